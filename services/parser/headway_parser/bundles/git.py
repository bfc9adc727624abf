"""A bundle that is a part of a git repository, one commit at a time."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.settings.bundles import BundleSettings
from headway_parser.bundles.checkout import Checkouts
from headway_parser.bundles.git_command import GitCommand, GitError

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(slots=True)
class GitBundle:
    """The files of the commit that was checked out last, each commit in a folder of its own.

    Both methods may take as long as git's timeout: call them from a thread, one at a time.
    """

    name: str
    source: BundleSettings
    folder: Path
    git: GitCommand
    commit: str | None = None
    root: Path | None = None
    _checkouts: Checkouts = field(init=False)

    def __post_init__(self) -> None:
        self._checkouts = Checkouts(self.folder, self._url, self.git)

    def newest(self) -> str:
        """Ask the remote which commit the ref names now."""
        ref = self.source.ref
        if _COMMIT.fullmatch(ref):
            return ref
        names = [
            name
            for full in (ref, f"refs/heads/{ref}", f"refs/tags/{ref}")
            for name in (f"{full}^{{}}", full)
        ]  # a tag's commit before the tag itself
        said = self.git("ls-remote", "--", self._url, *names)
        found = {name: commit for commit, _, name in map(_columns, said.splitlines())}
        for name in names:
            if name in found:
                return found[name]
        raise GitError(
            f"The remote of bundle {self.name!r} has no branch and no tag {ref!r}; a commit is "
            "named by all of its digits."
        )

    def check_out(self, commit: str) -> Path:
        """Have the files of exactly this commit be those of the bundle; return where they are."""
        if not _COMMIT.fullmatch(commit):
            raise GitError(f"{commit!r} is no commit.")
        tree = self._checkouts.tree(commit)
        root = (tree / self.source.subdir).resolve()
        if not root.is_dir() or not root.is_relative_to(tree):
            raise GitError(
                f"Commit {commit} of bundle {self.name!r} has no folder {self.source.subdir!r}."
            )
        self.commit, self.root = commit, root
        return root

    @property
    def _url(self) -> str:
        assert self.source.git is not None
        return self.source.git


def _columns(line: str) -> tuple[str, str, str]:
    return line.partition("\t")
