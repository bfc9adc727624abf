"""One parse of a file: what came of it, and what is to be noted of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.db.parsing.files import FileKey
from headway_parser.bundles.bundle_files import BundleFiles
from headway_parser.parse.answer import ParsedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParse:
    """A parse to be stored.

    `signature` and `paths` tell what it depends on; `bundle` is what its tasks may read besides.
    `first` is the parse that this one is the
    check of; `runs` are those that wait for it; `failures` is how often the file has failed
    before, in a row.
    """

    file: FileKey
    result: ParsedFile
    signature: str
    paths: Sequence[str]
    seconds: float
    failures: int = 0
    commit: str | None = None
    bundle: BundleFiles | None = None
    first: ParsedFile | None = None
    runs: Sequence[int] = ()

    @property
    def dag_ids(self) -> list[str]:
        """The DAGs that it found, in order."""
        return sorted(version.spec.dag_id for version in self.result.versions)

    def mask(self, text: str) -> str:
        """Return a text about its DAGs without the secrets that it or the first parse has read."""
        masked = self.result.mask(text)
        return masked if self.first is None else self.first.mask(masked)


def apart(parses: Iterable[StoredParse]) -> list[list[StoredParse]]:
    """Divide parses so that no DAG id is there twice in one part; there is seldom more than one."""
    parts: list[tuple[set[str], list[StoredParse]]] = []
    for parse in parses:
        ids = set(parse.dag_ids)
        fitting = next((part for part in parts if part[0].isdisjoint(ids)), None)
        if fitting is None:
            fitting = (set(), [])
            parts.append(fitting)
        fitting[0].update(ids)
        fitting[1].append(parse)
    return [part for _, part in parts]
