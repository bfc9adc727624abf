"""Which modules of installed packages a bundle's files import, and which are to be preloaded."""

from collections.abc import Collection
from dataclasses import dataclass, field

from headway_parser.parse.answer import MOST_MODULES


@dataclass(slots=True)
class BundleImports:
    """What each file was seen to import, and when; `refused` are modules not to be preloaded."""

    refused: set[str] = field(default_factory=set)
    _files: dict[str, tuple[frozenset[str], float]] = field(default_factory=dict)

    def of(self, path: str) -> frozenset[str] | None:
        """Return what a file imports; None if that is not known."""
        found = self._files.get(path)
        return None if found is None else found[0]

    def note(
        self, path: str, imports: frozenset[str], preloaded: Collection[str], now: float
    ) -> None:
        """Take note of what a file imports, as a process tells that has `preloaded` modules.

        There a module that is imported in a function seems to be imported with the file.  So of
        what is preloaded only that counts which a file that is known was seen to import before.
        """
        before = self.of(path)
        known = imports if before is None else imports.difference(preloaded) | (imports & before)
        self._files[path] = known, now

    def forget(self) -> None:
        """Forget what files import: each is to be parsed before anything is preloaded again."""
        self._files.clear()

    def wanted(self, since: float) -> tuple[str, ...]:
        """Return what is to be preloaded for the files that were parsed since then."""
        for path in [path for path, (_, at) in self._files.items() if at < since]:
            del self._files[path]
        names = {name for imports, _ in self._files.values() for name in imports}
        return tuple(sorted(names - self.refused)[:MOST_MODULES])
