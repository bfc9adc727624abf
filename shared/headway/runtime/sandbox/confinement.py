"""All layers of a sandbox together: made ready once, entered by one child after the other."""

import os
import pwd
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.runtime.processes.linux import become_undumpable
from headway.runtime.sandbox import landlock, namespaces, privileges, seccomp
from headway.runtime.sandbox.layers import Layer, Sandbox
from headway.runtime.sandbox.trial import account_for, rules_for

NO_HOME: Final = "/nonexistent"


@dataclass(frozen=True, slots=True)
class Confinement:
    """A sandbox as a nanny has prepared it for its children."""

    sandbox: Sandbox
    scratch: Path
    layers: Collection[Layer]
    own_users: bool
    account: pwd.struct_passwd | None
    ruleset: landlock.Ruleset | None
    filter: seccomp.FilterProgram | None

    def holds(self) -> bool:
        """Return whether what was prepared is still true of what lies on the disk."""
        return self.ruleset is None or self.ruleset.holds()

    def files(self) -> list[int]:
        """Return the descriptors that a child needs to enter."""
        return [] if self.ruleset is None else [self.ruleset.descriptor]

    def claim_scratch(self) -> None:
        """Give the folder to the user of the next child; another sandbox's may have had it."""
        if os.geteuid() == 0:
            user = (0, 0) if self.account is None else (self.account.pw_uid, self.account.pw_gid)
            now = self.scratch.stat()
            if (now.st_uid, now.st_gid) != user:  # in a sandbox nobody may change that
                os.chown(self.scratch, *user)

    def close(self) -> None:
        """Let go of what was prepared."""
        if self.ruleset is not None:
            self.ruleset.close()

    def enter(self) -> None:
        """Confine this process for good.

        The order matters: what needs a privilege or a file comes before the layer
        that takes it away, and the filter of system calls comes last.
        """
        os.environ.update(self._environment())  # noqa: TID251 - the child's own
        tempfile.tempdir = None  # what the forker may have found out is not true here
        if Layer.LIMITS in self.layers:
            # Elsewhere the kernel counts what others do as this user, and root's not at all.
            processes = self.sandbox.processes if self.own_users else None
            privileges.limit(self.sandbox.file_bytes, processes)
        if self.account is not None:
            privileges.become_user(self.account)
        if Layer.PRIVILEGES in self.layers:
            privileges.renounce()
        if self.ruleset is not None:
            landlock.restrict(self.ruleset.descriptor)
            self.ruleset.close()
        if self.filter is not None:
            seccomp.install(self.filter)

    def _environment(self) -> dict[str, str]:
        name = {} if self.account is None else {"USER": self.account.pw_name}
        return {"HOME": NO_HOME, "TMPDIR": str(self.scratch), **name}


def settle(layers: Collection[Layer]) -> None:
    """Do to this process, a nanny, what its children inherit: it is done once for all of them."""
    become_undumpable()
    if Layer.PROC in layers:
        namespaces.mount_proc()
    if Layer.LIMITS in layers:
        privileges.go_first()
    if Layer.PRIVILEGES in layers:
        privileges.drop_bounding_set()


def prepare(
    sandbox: Sandbox, layers: Collection[Layer], scratch: Path, *, own_users: bool
) -> Confinement:
    """Make ready what children of this process need to enter the sandbox."""
    return Confinement(
        sandbox,
        scratch,
        frozenset(layers),
        own_users,
        account_for(sandbox, scratch.parent) if Layer.USER in layers else None,
        rules_for(sandbox, scratch) if Layer.LANDLOCK in layers else None,
        seccomp.build(network=sandbox.network) if Layer.SECCOMP in layers else None,
    )
