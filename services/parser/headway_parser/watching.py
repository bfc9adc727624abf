"""Notice at once that files have changed; the listing finds what no event tells of."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event, Thread
from typing import Final

from watchfiles import Change, watch

log = logging.getLogger(__name__)
logging.getLogger("watchfiles").setLevel("WARNING")  # it tells of each change

DEBOUNCE_MS: Final = 50
"""For how long changes are gathered: an editor makes several of one edit."""

STEP_MS: Final = 20


class Watcher:
    """Ring when something changes below some folders, from threads of its own."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._watched: frozenset[tuple[Path, bool]] = frozenset()
        self._ended = Event()
        self._threads: list[Thread] = []

    def watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders from now on, and no others.

        Where a folder is a symbolic link, that it is turned elsewhere is noticed as well.
        """
        wanted = frozenset(_places(folders))
        alive = all(thread.is_alive() for thread in self._threads)
        if wanted == self._watched and alive:
            return
        self.close()
        self._watched, self._ended = wanted, Event()
        for deep in (True, False):
            paths = [path for path, recursive in wanted if recursive is deep]
            if paths:
                arguments = (paths, deep, self._ended)
                thread = Thread(target=self._run, args=arguments, name="watcher", daemon=True)
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Watch nothing any more."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, paths: list[Path], deep: bool, ended: Event) -> None:
        try:
            for _ in watch(
                *paths,
                watch_filter=_counts,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=ended,
                recursive=deep,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._ring()
        except (OSError, RuntimeError) as error:  # no such folder, or no more watches to be had
            log.warning("action=unwatched reason=%r: changes are found by the listing", str(error))
            ended.wait()  # or it would be tried again at each listing


def _places(folders: Iterable[Path]) -> Iterable[tuple[Path, bool]]:
    for folder in folders:
        if folder.is_dir():
            yield folder.resolve(), True
        if folder.is_symlink():
            yield folder.parent, False


def _counts(_change: Change, path: str) -> bool:
    return "/__pycache__/" not in path and "/.git/" not in path
