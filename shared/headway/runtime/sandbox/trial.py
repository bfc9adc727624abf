"""What of the sandbox the kernel allows here, tried out in throw-away processes."""

import errno
import os
import pwd
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from headway.runtime.sandbox import landlock, namespaces, privileges, seccomp
from headway.runtime.sandbox.allowed import SECRET, SYSTEM, allowed, interpreter
from headway.runtime.sandbox.layers import EVERY, Isolation, Layer, Sandbox

Action = Callable[[], object]


def find_out(sandbox: Sandbox, without: Collection[Layer], scratch: Path) -> Isolation:
    """Try each layer but for those that the caller does without; say which hold, and why not."""
    missing: dict[Layer, str] = {}
    for layer in EVERY:
        why = "it was left out on request" if layer in without else _try(layer, sandbox, scratch)
        if why is not None:
            missing[layer] = why
    if Layer.NAMESPACE in missing and Layer.PROC not in missing:
        missing[Layer.PROC] = "there is no namespace to show"
    in_force = frozenset(EVERY) - missing.keys()
    user = sandbox.user if Layer.USER in in_force else None
    return Isolation(user or _own_name(), in_force, missing, sandbox.network)


def can_live_apart() -> bool:
    """Whether processes may have a PID namespace and a /proc of their own, and lose nothing by it.

    They would in a user namespace: programs that become another user, and the names of users.
    """
    look = partial(_in_namespace, _look_at_own_proc, namespaces.enter_privileged)
    return sys.platform == "linux" and attempt(look) is None


def account_for(sandbox: Sandbox, scratch: Path) -> pwd.struct_passwd | None:
    """Return the user that can be become, and then can read what it must; None if there is none."""
    if os.geteuid() != 0 or attempt(partial(_other_user, sandbox, scratch)) is not None:
        return None
    return pwd.getpwnam(sandbox.user or "")


def rules_for(sandbox: Sandbox, scratch: Path) -> landlock.Ruleset:
    """Return the rules of Landlock for the sandbox."""
    hidden = [*SECRET, *sandbox.hidden]
    tree = allowed([*SYSTEM, *interpreter()], sandbox.readable, hidden)
    return landlock.Ruleset(tree, scratch, network=sandbox.network)


def attempt(action: Action) -> str | None:
    """Do something in a throw-away process; return why it cannot be done, None if it can."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _do(action, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        why = answer.read().decode()
    _, status = os.waitpid(pid, 0)
    if status == 0:
        return None
    return why or f"the attempt ended with {os.waitstatus_to_exitcode(status)}"


def _do(action: Action, writer: int) -> NoReturn:
    code = 1
    try:
        action()
        code = 0
    except OSError as error:
        os.write(writer, (error.strerror or str(error)).encode())
    except BaseException as error:  # noqa: BLE001 - the caller's frames must never be returned to
        os.write(writer, str(error).encode())
    finally:
        os._exit(code)


def _try(layer: Layer, sandbox: Sandbox, scratch: Path) -> str | None:
    if sys.platform != "linux":
        return f"{sys.platform} has nothing of the kind"
    return attempt(partial(_TRIALS[layer], sandbox, scratch))


def _other_user(sandbox: Sandbox, scratch: Path) -> None:
    if sandbox.user is None:
        raise OSError("no other user was asked for")
    if os.geteuid() != 0:
        raise OSError("only root can become another user")
    try:
        account = pwd.getpwnam(sandbox.user)
    except KeyError:
        raise OSError(f"there is no user {sandbox.user}") from None
    needed = [*interpreter(), *sandbox.readable, str(scratch)]
    privileges.become_user(account)
    try:
        privileges.refuse_unreadable(needed)
    except PermissionError as error:
        raise OSError(f"{sandbox.user} {error}") from None


def _namespace(_sandbox: Sandbox, _scratch: Path) -> None:
    _in_namespace(lambda: _expect(os.getpid() == 1, "the namespace is not a new one"))


def _proc(_sandbox: Sandbox, _scratch: Path) -> None:
    _in_namespace(_look_at_own_proc)


def _look_at_own_proc() -> None:
    namespaces.mount_proc()
    _expect(str(Path("/proc/self").readlink()) == "1", "the old /proc is still there")


def _in_namespace(action: Action, enter: Action = namespaces.enter) -> None:
    enter()
    why = attempt(action)
    if why is not None:
        raise OSError(why)


def _limits(sandbox: Sandbox, _scratch: Path) -> None:
    privileges.go_first()
    privileges.limit(sandbox.file_bytes, None)


def _privileges(_sandbox: Sandbox, _scratch: Path) -> None:
    privileges.drop_bounding_set()
    privileges.renounce()
    held = [line.split()[1] for line in _status() if line.startswith(("CapEff", "CapPrm"))]
    _expect(not any(int(each, 16) for each in held), "capabilities are still held")


def _landlock(sandbox: Sandbox, scratch: Path) -> None:
    ruleset = rules_for(sandbox, scratch)
    privileges.gain_nothing()
    landlock.restrict(ruleset.descriptor)
    try:
        os.listdir("/")  # noqa: PTH208 - that it is refused is all that matters
    except PermissionError:
        return
    raise OSError("the rules have no effect")


def _seccomp(sandbox: Sandbox, _scratch: Path) -> None:
    privileges.gain_nothing()
    seccomp.install(seccomp.build(network=sandbox.network))
    try:
        socket.socket(socket.AF_UNIX).close()
    except OSError as error:
        _expect(error.errno == errno.EACCES, "the filter has no effect")
        return
    raise OSError("the filter has no effect")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise OSError(otherwise)


def _status() -> list[str]:
    return Path("/proc/self/status").read_text().splitlines()


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


_TRIALS: Final[Mapping[Layer, Callable[[Sandbox, Path], None]]] = {
    Layer.USER: _other_user,
    Layer.NAMESPACE: _namespace,
    Layer.PROC: _proc,
    Layer.LIMITS: _limits,
    Layer.PRIVILEGES: _privileges,
    Layer.LANDLOCK: _landlock,
    Layer.SECCOMP: _seccomp,
}
