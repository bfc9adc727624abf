"""The nanny: the process above a child, which outlives it and leaves nothing behind.

A nanny raises one child after the other.  Between two of them it has proved that
no process is left below it, so the next one starts as from a new nanny, at half
the cost: forking a process that has imported much is what takes the time.
"""

import os
import select
import socket
import traceback
from dataclasses import replace
from typing import Final, NoReturn

from headway.runtime.forker.child import run_child
from headway.runtime.forker.deadline import Deadline
from headway.runtime.forker.records import ChildSpec, Exit
from headway.runtime.forker.watch import ChildWatch
from headway.runtime.processes.frames import Frame, close_all, close_all_but, receive_message
from headway.runtime.processes.linux import become_subreaper, go_on_without_parent
from headway.runtime.processes.tree import Kill, Wakeup, kill_namespace, kill_tree
from headway.runtime.sandbox import namespaces
from headway.runtime.sandbox.confinement import Confinement
from headway.runtime.sandbox.sandbox_home import NannySandbox

_LOOK_SECONDS: Final = 0.15
"""How often what a sandboxed child has become is looked at; any other is trusted more, and lives
longer."""

_OF_CHILD: Final = 3
"""How many of the files that come with an order are the child's: the nanny keeps none of them."""


def run_nanny(
    child_control: int, lifeline: int, sandbox: NannySandbox | None = None, *, apart: bool = False
) -> NoReturn:
    """Become a nanny, in a process just forked, until the supervisor or the forker is gone.

    `reins` joins it to the supervisor; `lifeline` is the reading end of a pipe whose
    other end only the forker holds.  A nanny with a `sandbox` raises sandboxed children.
    One that is `apart` is the first process of a PID namespace.
    """
    code = 1
    try:
        close_all_but([0, 1, 2, child_control, lifeline])
        become_subreaper()
        go_on_without_parent()  # to find the lifeline cut
        kill: Kill = kill_namespace if apart else kill_tree
        if apart:
            namespaces.mount_proc()
        if sandbox is not None:
            sandbox.settle()
            kill = sandbox.kill
        _Nanny(socket.socket(fileno=child_control), lifeline, sandbox, kill).serve()
        if sandbox is not None:
            sandbox.leave(orphaned=bool(select.select([lifeline], [], [], 0)[0]))
        code = 0
    except BaseException:  # noqa: BLE001 - the forker's frames must never be returned to
        traceback.print_exc()
    finally:
        os._exit(code)


class _Nanny:
    def __init__(
        self, child_control: socket.socket, lifeline: int, sandbox: NannySandbox | None, kill: Kill
    ) -> None:
        self._child_control = child_control
        self._lifeline = lifeline
        self._sandbox = sandbox
        self._kill = kill
        self._wakeup = Wakeup()
        self._pid = os.getpid()

    def serve(self) -> None:
        while (request := self._await_request()) is not None:
            self._raise_child(*request)

    def _await_request(self) -> tuple[Frame, list[int]] | None:
        """Return the next request to start a child; None when there will be none."""
        events = select.poll()
        events.register(self._lifeline, select.POLLIN)
        events.register(self._child_control, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self._lifeline in ready:
                return None
            message = receive_message(self._child_control)
            # An order to stop may come too late, when its child has just ended.
            if message is None or "start" in message[0]:
                return message

    def _raise_child(self, request: Frame, files: list[int]) -> None:
        spec = ChildSpec.from_frame(request["start"])
        watch = self._watch(spec)
        try:
            try:
                channel, output, errors, *rest = files
                deadline = _deadline(spec, rest)
                if deadline is not None and deadline.has_passed():
                    watch.report(Exit(lost="Its deadline had passed; it was not started."))
                    return
                confinement = self._confinement(spec)
                child = os.fork()
            except (OSError, ValueError) as error:  # no process, or no descriptor, left for us
                watch.report(Exit(lost=f"The system refused to start it: {error}."))
                return
            if child == 0:
                run_child(spec, channel, (output, errors), self._pid, confinement)
            close_all(files[:_OF_CHILD])
            del files[:_OF_CHILD]
            watch.over(child, deadline)
        finally:
            close_all(files)

    def _watch(self, spec: ChildSpec) -> ChildWatch:
        if self._sandbox is None:
            return ChildWatch(
                self._child_control, self._lifeline, self._wakeup, self._kill, spec.limits
            )
        processes = spec.sandbox.processes if spec.sandbox else None
        seconds = spec.limits.look_seconds or _LOOK_SECONDS
        limits = replace(spec.limits, processes=processes, look_seconds=seconds)
        return ChildWatch(
            self._child_control,
            self._lifeline,
            self._wakeup,
            self._kill,
            limits,
            self._sandbox.tidy,
        )

    def _confinement(self, spec: ChildSpec) -> Confinement | None:
        """Return the sandbox of the child; ValueError if it asks for one that is not to be had."""
        if spec.sandbox is None:
            return None
        if self._sandbox is None:
            raise ValueError("this fork server was not started for sandboxed children")
        return self._sandbox.confinement(spec.sandbox)


def _deadline(spec: ChildSpec, files: list[int]) -> Deadline | None:
    """Return the deadline of a child that has one; ValueError if its file has not arrived."""
    if spec.limits.until is None:
        return None
    (descriptor,) = files
    return Deadline(descriptor)
