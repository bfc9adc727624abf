"""What a child has said of a DAG file, checked before anything believes it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from signal import strsignal
from typing import Final

from headway.db.parsing.versions import NewVersion
from headway.domain.dag.validation import check_valid
from headway.domain.errors import DagError, SerializationError
from headway.runtime.forker.records import Exit
from headway.runtime.processes.frames import Frame
from headway.sdk.bundle.declared_files import MOST_PATTERNS
from headway.serialization import codec
from headway.serialization.decoding import DecodeBudget
from headway.serialization.manifest import MOST_BYTES, MOST_FILES, content_hash, manifest_hash
from headway.timetables import registry
from headway_parser.file_patterns import ABSENT

LONGEST_ERROR: Final = 20_000
"""Characters of an import error that are kept."""

LONGEST_OUTPUT: Final = 4_000
"""Characters of what a file has printed that are kept."""

MOST_DEPENDENCIES: Final = 2 * MOST_FILES
"""Files of its bundle that a DAG file may depend on, with those that it has missed: each is looked
at in every listing."""

MOST_NOTES: Final = 20
MOST_MODULES: Final = 256
"""Modules of installed packages that one DAG file is known to import."""

LONGEST_NAME: Final = 1024
MOST_NAMES: Final = 2**20
"""Characters of the name of a file, and of all that one DAG file depends on."""

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The DAGs of a file and the code they were read from; or the error that it ended with.

    `files` is the manifest, path to content hash; `contents` holds each content by its hash.
    `read` is all that the result depends on, path to content hash, ABSENT where there was
    nothing; it is None when the child could not tell.  `changed` says that files were
    written meanwhile: then there is no result.  `notes` are what the author should know.
    `secrets` are the connections and variables that it has asked for, as dependencies, with what
    tells of a change.
    `mask` returns a text about the DAGs, which may show what was read, without its secrets.
    `imports` are modules of installed packages; `outdated` says that those which were imported
    before the file was parsed are others by now.
    """

    versions: tuple[NewVersion, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None
    read: Mapping[str, str] | None = None
    changed: bool = False
    notes: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()
    outdated: bool = False
    mask: Callable[[str], str] = field(default=str, repr=False, compare=False)

    @property
    def size(self) -> int:
        """The bytes that it takes to store it, about."""
        code = sum(map(len, self.contents.values()))
        return code + sum(len(version.serialized) for version in self.versions)

    @property
    def manifest_hash(self) -> str:
        """What identifies the code."""
        return manifest_hash(self.files)


def check_answer(path: str, frame: Frame) -> ParsedFile:
    """Return what the frame says; one that is malformed is an error of its file."""
    try:
        return _check(path, frame)
    except (SerializationError, DagError) as error:
        return ParsedFile(error=kept(f"What the file left behind cannot be used: {error}"))


def kept(said: str) -> str:
    """Return as much of an error or a warning as is stored."""
    return _storable(said)[:LONGEST_ERROR]


def explain_silence(
    exit_status: Exit, timeout: float | None, printed: str, waited_for: str = ""
) -> ParsedFile:
    """Return the error of a file whose child ended without an answer.

    `timeout` is the limit in seconds that it was killed for; `printed` its output, of which
    the end may tell more.  `waited_for` is what the database had not given it yet.
    """
    if timeout is not None and waited_for:
        said = (
            f"Reading the file took more than {timeout:g} s, and was stopped while it waited for "
            f"{waited_for}: the database had not answered. The file is read again later."
        )
    elif timeout is not None:
        said = (
            f"Reading the file took more than {timeout:g} s, and was stopped. Move slow "
            "work into tasks, or raise HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT."
        )
    else:
        said = f"Reading the file ended its process ({_how(exit_status)}); it must not do that."
    return failure(said, printed)


def failure(said: str, printed: str) -> ParsedFile:
    """Return the error `said`, with the end of what the file has printed."""
    tail = _storable(printed)[-LONGEST_OUTPUT:].strip()
    return ParsedFile(error=f"{said}\nIt printed:\n{tail}" if tail else said)


def _how(exit_status: Exit) -> str:
    if exit_status.lost is not None:
        return exit_status.lost
    if exit_status.signal is not None:
        return f"signal {exit_status.signal}, {strsignal(exit_status.signal)}"
    return f"exit code {exit_status.code}"


def _check(path: str, frame: Frame) -> ParsedFile:
    if "changed" in frame:
        return ParsedFile(changed=True)
    if "unfit" in frame:
        said = kept(f"What was imported before this file cannot be used for it: {frame['unfit']}")
        return ParsedFile(error=said, outdated=frame.get("outdated") is True)
    if "error" in frame:
        said = _storable(str(frame["error"])).strip()[:LONGEST_ERROR]
        said = said or "Reading the file failed with an error without a message."
        read = dict(_hashes(frame.get("read")))
        return ParsedFile(error=said, read=read if _is_bounded(read) else None)
    dags, contents = frame.get("dags"), frame.get("files")
    if not isinstance(dags, list) or not isinstance(contents, dict):
        raise SerializationError("it has no DAGs, or no files.")
    by_path, by_hash = _code(contents)
    patterns = dict(_patterns(frame.get("patterns")))
    if len(patterns) > MOST_PATTERNS:
        raise SerializationError(
            f"it has {len(patterns):,} patterns in headway_files; {MOST_PATTERNS} is the limit."
        )
    read = {**dict.fromkeys(_paths(frame.get("missing")), ABSENT), **patterns, **by_path}
    if not _is_bounded(read):
        raise SerializationError(
            f"it depends on {len(read):,} files of its bundle; {MOST_DEPENDENCIES:,} is the "
            f"limit, with names of {MOST_NAMES:,} characters in all."
        )
    manifest, budget = manifest_hash(by_path), codec.budget()
    versions = tuple(_version(path, data, manifest, budget) for data in dags)
    _check_unique(versions)
    notes, imports = _notes(frame.get("notes")), frozenset(_modules(frame.get("imports")))
    return ParsedFile(versions, by_path, by_hash, read=read, notes=notes, imports=imports)


def _code(contents: Mapping[object, object]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return hashes by path, and contents by hash."""
    if len(contents) > MOST_FILES:
        raise SerializationError(
            f"it has {len(contents):,} files of code; {MOST_FILES:,} is the limit for a version."
        )
    by_path: dict[str, str] = {}
    by_hash: dict[str, bytes] = {}
    for name, content in contents.items():
        if not isinstance(name, str) or not isinstance(content, bytes) or not _is_inside(name):
            raise SerializationError(f"{name!r} is no file of the bundle.")
        by_path[name] = content_hash(content)
        by_hash[by_path[name]] = content
    size = sum(map(len, by_hash.values()))
    if size > MOST_BYTES:
        raise SerializationError(f"it has {size:,} bytes of code; {MOST_BYTES:,} is the limit.")
    return by_path, by_hash


def _is_bounded(read: Mapping[str, str]) -> bool:
    return len(read) <= MOST_DEPENDENCIES and sum(map(len, read)) <= MOST_NAMES


def _check_unique(versions: Iterable[NewVersion]) -> None:
    for dag_id, times in Counter(version.spec.dag_id for version in versions).items():
        if times > 1:
            raise SerializationError(f"it has the DAG {dag_id} twice.")


def _storable(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _hashes(said: object) -> Iterator[tuple[str, str]]:
    known = said if isinstance(said, dict) else {}
    for name in _paths(list(known)):
        content = known[name]
        if isinstance(content, str) and (content == ABSENT or _HASH.fullmatch(content)):
            yield name, content


def _patterns(said: object) -> Iterator[tuple[str, str]]:
    known = said if isinstance(said, dict) else {}
    for name, found in known.items():
        is_pattern = isinstance(name, str) and name.endswith("/") and _is_inside(name[:-1])
        if is_pattern and isinstance(found, str) and (found == ABSENT or _HASH.fullmatch(found)):
            yield name, found


def _notes(said: object) -> tuple[str, ...]:
    notes = said if isinstance(said, list) else []
    return tuple(_storable(note) for note in notes[:MOST_NOTES] if isinstance(note, str))


def _modules(said: object) -> Iterator[str]:
    names = said if isinstance(said, list) else []
    for name in names[:MOST_MODULES]:
        if isinstance(name, str) and len(name) <= LONGEST_NAME and _MODULE.fullmatch(name):
            yield name


def _paths(names: object) -> Iterator[str]:
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and _is_inside(name):
            yield name


def _is_inside(name: str) -> bool:
    pure = PurePosixPath(name)
    whole = bool(pure.parts) and str(pure) == name and len(name) <= LONGEST_NAME
    return whole and "\0" not in name and not pure.is_absolute() and ".." not in pure.parts


def _version(path: str, data: object, manifest: str, budget: DecodeBudget) -> NewVersion:
    if not isinstance(data, bytes):
        raise SerializationError("a DAG in it is no bytes.")
    spec = codec.decode(data, budget)
    if spec.relative_path != path:
        raise SerializationError(f"its DAG {spec.dag_id} claims to be of {spec.relative_path!r}.")
    check_valid(spec)
    registry.decode(spec.timetable)  # TimetableError for one that no scheduler could use
    return NewVersion(spec, data, codec.fingerprint(data, manifest), manifest)
