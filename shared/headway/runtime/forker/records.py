"""What is asked of fork servers, and what they tell."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

from headway.domain.errors import HeadwayError
from headway.runtime.processes.frames import Frame
from headway.runtime.sandbox import Sandbox


class ForkerError(HeadwayError):
    """The fork server cannot be started, or has died."""

    code = "fork_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """What a child may use; None leaves what the forker has.  No child dumps core.

    `processes`, with their threads, and `memory_bytes` are for its whole tree, which the nanny
    looks at every `look_seconds`, or when it finds right (None); the kernel sees to the others, for
    each process.
    `until` is the moment of the machine's clock at which the nanny kills the tree, unless the
    supervisor has moved it by then (`Child.hold_until`).
    """

    address_space_bytes: int | None = None
    open_files: int | None = None
    niceness: int = 0
    processes: int | None = None
    memory_bytes: int | None = None
    look_seconds: float | None = None
    until: float | None = None

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A child to be started.

    `target` is "package.module:function" and is called with `argument` and the
    child's end of the channel.  It must be a constant of the supervisor's code,
    never data that came from elsewhere.  `environment` is added to the forker's.
    A `sandbox` is for code that nobody vouches for; its forker must know of such.
    """

    target: str
    argument: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    limits: ChildLimits = field(default_factory=ChildLimits)
    sandbox: Sandbox | None = None

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {
            "target": self.target,
            "argument": dict(self.argument),
            "environment": dict(self.environment),
            "directory": self.directory,
            "limits": self.limits.to_frame(),
            "sandbox": self.sandbox and self.sandbox.to_frame(),
        }

    @classmethod
    def from_frame(cls, frame: Frame) -> "ChildSpec":
        """Return what `to_frame` made the data of."""
        sandbox = frame["sandbox"] and Sandbox.from_frame(frame["sandbox"])
        return cls(**{**frame, "limits": ChildLimits(**frame["limits"]), "sandbox": sandbox})


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a child ended: with a code, by a signal, or, where `lost` says why, unknown.

    Where it was killed for having more of something than it may, `exceeded` says than what.
    Of one that was killed otherwise, `oom_kills` is how many processes of its memory cgroup the
    kernel has killed meanwhile for want of memory, None where nobody tells; that does not make
    it another end.
    """

    code: int | None = None
    signal: int | None = None
    lost: str | None = None
    exceeded: str | None = None
    oom_kills: int | None = field(default=None, compare=False)

    @classmethod
    def from_wait_status(cls, status: int) -> "Exit":
        """Return what a status of `os.waitpid` says."""
        code = os.waitstatus_to_exitcode(status)
        return cls(code=code) if code >= 0 else cls(signal=-code)

    @property
    def succeeded(self) -> bool:
        """Whether the child returned from its target or exited with code 0."""
        return self.code == 0

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_frame(cls, frame: Frame) -> "Exit":
        """Return what `to_frame` made the data of."""
        return cls(**frame)


@dataclass(frozen=True, slots=True)
class ServiceOrder:
    """A service to start: "package.module:function", its command line, its whole environment."""

    call: str
    arguments: Sequence[str]
    environment: Mapping[str, str]

    def to_frame(self) -> Frame:
        """Return the order as plain data."""
        return asdict(self)

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Return the order that was sent."""
        return cls(**frame)
