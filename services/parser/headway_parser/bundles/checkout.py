"""Commits of one repository as folders that are complete as soon as they can be seen."""

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

from headway.runtime.daemon.clock import Clock, SystemClock
from headway_parser.bundles.git_command import GitCommand, GitError

log = logging.getLogger(__name__)

MOST_SAID: Final = 20
"""Links that are named when they are left out of a tree."""

KEPT: Final = 2
"""Trees that stay: the one in force, and the one before, which may still be being parsed."""

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Checkouts:
    """The folder of a bundle, which the processes of one machine share.

    `trees` holds commits, `drafts` what is being made or removed, `repository.git` what was
    fetched.  All of it is changed under the lock alone; a tree never changes.
    """

    folder: Path
    url: str
    git: GitCommand
    clock: Clock = field(default_factory=SystemClock)

    def tree(self, commit: str) -> Path:
        """Return the folder of the commit's files, fetched and written if it is absent."""
        with self._locked() as lock:
            self._clean()
            tree = self._trees / commit
            if not tree.is_dir():
                self._fetch(commit, lock)
                self._write(commit, tree, lock)
            os.utime(tree)  # the order of use
            self._remove_old(lock)
        return tree.resolve()

    @property
    def _trees(self) -> Path:
        return self.folder / "trees"

    @property
    def _drafts(self) -> Path:
        return self.folder / "drafts"

    @property
    def _repository(self) -> Path:
        return self.folder / "repository.git"

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock; a git that outlives this process holds it on, as it still writes."""
        for folder in (self.folder, self._trees, self._drafts):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        with (self.folder / "lock").open("a") as lock:
            deadline = self.clock.monotonic() + 2 * self.git.timeout
            while not _try_lock(lock.fileno()):
                if self.clock.monotonic() > deadline:
                    raise GitError(f"Another process has held {lock.name} for too long.")
                self.clock.wait(Event(), 0.05)
            yield lock.fileno()

    def _clean(self) -> None:
        """Remove what killed processes have left, and what a power cut may have left half full."""
        boot = _BOOT.read_text() if _BOOT.exists() else ""
        mark = self.folder / "boot"
        if not mark.exists() or mark.read_text() != boot:
            for tree in self._trees.iterdir():
                self._discard(tree)
            mark.write_text(boot)
        for draft in self._drafts.iterdir():
            shutil.rmtree(draft)
        for lock in self._repository.rglob("*.lock"):
            lock.unlink()

    def _fetch(self, commit: str, lock: int) -> None:
        """Have the commit in the repository; one that is there needs no remote."""
        if not (self._repository / "HEAD").is_file():
            self.git("init", "--bare", "--quiet", "--template=", "--", str(self._repository))
        if self._has(commit, lock):
            return
        try:
            self._run(
                lock,
                "fetch",
                "--quiet",
                "--no-tags",
                "--depth=1",
                "--no-write-fetch-head",
                "--",
                self.url,
                f"+{commit}:refs/commits/{commit}",
            )
        except GitError as refusal:
            # Some servers give no commit by its name, but all that their refs lead to.
            self._run(
                lock,
                "fetch",
                "--quiet",
                "--no-tags",
                "--prune",
                "--no-write-fetch-head",
                "--",
                self.url,
                "+refs/heads/*:refs/remote/heads/*",
                "+refs/tags/*:refs/remote/tags/*",
            )
            if not self._has(commit, lock):
                raise refusal from None
            self._run(lock, "update-ref", f"refs/commits/{commit}", commit)

    def _has(self, commit: str, lock: int) -> bool:
        with suppress(GitError):
            self._run(lock, "rev-list", "--objects", "--quiet", "--no-walk", commit, "--")
            return True
        return False

    def _write(self, commit: str, tree: Path, lock: int) -> None:
        with tempfile.TemporaryDirectory(dir=self._drafts) as scratch:
            draft, index = Path(scratch) / "tree", str(Path(scratch) / "index")
            draft.mkdir()
            draft.chmod(0o755)  # whatever this process's mask is
            place = {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": str(draft)}
            self._run(lock, "read-tree", commit, **place)
            self._run(lock, "checkout-index", "--all", "--quiet", **place)
            _remove_links_that_lead_out(draft)
            draft.rename(tree)

    def _remove_old(self, lock: int) -> None:
        trees = sorted(self._trees.iterdir(), key=lambda tree: tree.stat().st_mtime_ns)
        for tree in trees[:-KEPT]:
            self._discard(tree)
            self._run(lock, "update-ref", "-d", f"refs/commits/{tree.name}")
            with suppress(GitError):  # it is for the space alone
                self._run(
                    lock,
                    "-c",
                    "gc.auto=200",
                    "-c",
                    "gc.autoDetach=false",
                    "-c",
                    "gc.pruneExpire=now",
                    "gc",
                    "--auto",
                    "--quiet",
                )

    def _discard(self, tree: Path) -> None:
        """Remove a tree, so that no half of it is ever seen in its place."""
        draft = Path(tempfile.mkdtemp(dir=self._drafts))
        tree.rename(draft / "tree")
        shutil.rmtree(draft)

    def _run(self, lock: int, *arguments: str, **more: str) -> str:
        return self.git(*arguments, holds=(lock,), GIT_DIR=str(self._repository), **more)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_links_that_lead_out(draft: Path) -> None:
    draft = draft.resolve()
    links = [
        Path(folder, name)
        for folder, folders, files in os.walk(draft)
        for name in folders + files
        if Path(folder, name).is_symlink()
    ]
    # All are judged before any is removed: through one that is gone nothing leads out.
    out = [link for link in links if not Path(os.path.realpath(link)).is_relative_to(draft)]
    for link in out:
        link.unlink()
    for link in out[:MOST_SAID]:
        log.warning("action=skip_links link=%s: it leads out of the repository", _shown(link.name))
    if len(out) > MOST_SAID:
        log.warning("action=skip_links links=%d: they all lead out of the repository", len(out))


def _shown(name: str) -> str:
    return ascii(name)[1:-1]
