"""The stem: a process that has read what the services of one machine share, and forks them.

    launcher ──control──▶ stem ──fork──▶ service

Most of a service's memory, and of the time that it takes to start, is modules.  Those that
all services need are read once, in a process of its own; each service is a fork of it, which
shares with the others what none of them writes to.

The stem knows no secret: it has the environment of whoever may know least, and no connection.
A service gets its own environment with the order to start, over the socket; /proc shows that
to nobody.  It is the leader of a new session, has default signals, reads nothing from stdin
and writes to the file that came with the order.  From then on it runs like the program of the
same arguments, to the interpreter's own end.

The kernel tells a service to end (SIGTERM) when the stem ends, and the stem when the launcher
does, however that happens.  Once the launcher lets go of the control, the stem ends what it
has forked, and leaves when nothing of it is left.
"""

from headway.runtime.stem.client import Prefork, PreforkError, Service
from headway.runtime.stem.records import ServiceOrder

__all__ = ["Prefork", "PreforkError", "Service", "ServiceOrder"]
