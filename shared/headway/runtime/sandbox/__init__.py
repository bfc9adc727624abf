"""The sandbox of children that run untrusted code: layers of the kernel, one on the other.

    allowed     which paths a child may read, as whole trees, what is hidden left out
    landlock    … and the kernel's rules for that: files, TCP, signals, abstract sockets
    seccomp     which system calls are refused: above all, sockets
    privileges  another user, no capabilities, none to be gained, limits of resources
    namespaces  a world of its own for a nanny and its children: process ids, /proc
    scratch     the one folder that a child may write in, gone with it
    trial       what of all this the kernel allows here, found out by trying
    confinement all layers together, prepared once and entered by one child after the other

docs/isolation.md says what each layer stops and what remains where one is missing.
The fork server (`headway.runtime.forker`) is the one user of this package.
"""

from headway.runtime.sandbox.layers import Isolation, Layer, Sandbox

__all__ = ["Isolation", "Layer", "Sandbox"]
