"""Notice at once that files have changed; the listing finds what no event tells of."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final, NamedTuple

from watchfiles import Change, watch

log = logging.getLogger(__name__)
logging.getLogger("watchfiles").setLevel("WARNING")  # it tells of each change

DEBOUNCE_MS: Final = 50
"""For how long changes are gathered: an editor makes several of one edit."""

STEP_MS: Final = 20

MOST_LINKS: Final = 40
"""Links on the way to a folder, as many as Linux follows: a link may lead to itself."""


class WatchedPlace(NamedTuple):
    """A folder to be watched, and which one it is: all below it, or a `link` in it alone."""

    path: Path
    link: str | None
    identity: tuple[int, int]


class FileWatcher:
    """Ring when something changes below some folders, from threads of its own."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._watched: frozenset[WatchedPlace] = frozenset()
        self._ended = Event()
        self._threads: list[Thread] = []

    def watch(self, folders: Iterable[Path]) -> None:
        """Watch these folders from now on, and no others.

        Where a folder, or one that it lies in, is a symbolic link, that it is turned elsewhere
        is noticed as well.
        Call it from time to time: a folder that was made anew is watched from then on.
        """
        wanted = frozenset(_places(folders))
        alive = all(thread.is_alive() for thread in self._threads)
        if wanted == self._watched and alive:
            return
        self.close()
        self._watched, self._ended = wanted, Event()
        for deep in (True, False):
            places = [place for place in wanted if (place.link is None) is deep]
            if places:
                arguments = (places, deep, self._ended)
                thread = Thread(target=self._run, args=arguments, name="watcher", daemon=True)
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Watch nothing any more."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _run(self, places: list[WatchedPlace], deep: bool, ended: Event) -> None:
        roots, links = {str(place.path) for place in places}, {place.link for place in places}

        def counts(_change: Change, path: str) -> bool:
            if deep:
                return "/__pycache__/" not in path and "/.git/" not in path
            return path in roots or Path(path).name in links

        try:
            for changes in watch(
                *roots,
                watch_filter=counts,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=ended,
                recursive=deep,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._ring()
                if any(change is Change.deleted and path in roots for change, path in changes):
                    return  # another one in its place has events of its own
        except (OSError, RuntimeError) as error:  # no such folder, or no more watches to be had
            log.warning("action=unwatched reason=%r: changes are found by the listing", str(error))
            ended.wait()  # or it would be tried again at each listing


def _places(folders: Iterable[Path]) -> Iterator[WatchedPlace]:
    for folder in folders:
        with suppress(OSError, RuntimeError):  # it leads nowhere
            if folder.is_dir():
                yield from _place(folder.resolve())
        for link in _links(folder):
            yield from _place(link.parent, link.name)


def _links(folder: Path) -> Iterator[Path]:
    """Yield the links on the way to a folder, as a kernel follows them; of a loop, so many."""
    at, left, followed = Path("/"), [*reversed(folder.absolute().parts)], 0
    while left and followed < MOST_LINKS:
        part = left.pop()
        path = at.parent if part == ".." else at / part
        try:
            target = path.readlink()
        except OSError:  # no link, or one that nobody can follow
            at = path
        else:
            yield path
            left += reversed(target.parts)
            followed += 1


def _place(path: Path, link: str | None = None) -> Iterator[WatchedPlace]:
    with suppress(OSError):  # it has just gone
        status = path.stat()
        yield WatchedPlace(path, link, (status.st_dev, status.st_ino))
