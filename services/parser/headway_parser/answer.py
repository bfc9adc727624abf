"""What a child has said of a DAG file, checked before anything believes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from headway.db.versions import NewVersion
from headway.domain.errors import DagError, SerializationError
from headway.domain.soundness import check_sound
from headway.runtime.forker.records import Exit
from headway.runtime.frames import Frame
from headway.serialization import codec
from headway.serialization.manifest import content_hash, manifest_hash
from headway.timetables import registry

LONGEST_ERROR: Final = 20_000
"""Characters of an import error that are kept."""


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The DAGs of a file and the code they were read from; or the error that it ended with.

    `files` is the manifest, path to content hash; `contents` holds each content by its hash.
    `read` are the paths on which the result depends.
    """

    versions: tuple[NewVersion, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None
    read: frozenset[str] = frozenset()

    @property
    def manifest_hash(self) -> str:
        """What identifies the code."""
        return manifest_hash(self.files)


def check_answer(path: str, frame: Frame) -> ParsedFile:
    """Return what the frame says; one that is malformed is an error of its file."""
    try:
        return _check(path, frame)
    except (SerializationError, DagError) as error:
        return ParsedFile(error=f"What the file left behind cannot be used: {error}")


def explain_silence(exit_status: Exit, timeout: float, *, timed_out: bool) -> ParsedFile:
    """Return the error of a file whose child ended without an answer."""
    if timed_out:
        return ParsedFile(
            error=f"Reading the file took more than {timeout:g} s, and was stopped. Move slow "
            "work into tasks, or raise HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT."
        )
    how = f"exit code {exit_status.code}"
    if exit_status.signal is not None:
        how = f"signal {exit_status.signal}"
    if exit_status.lost is not None:
        how = exit_status.lost
    return ParsedFile(error=f"Reading the file ended its process ({how}); it must not do that.")


def _check(path: str, frame: Frame) -> ParsedFile:
    if "error" in frame:
        said = str(frame["error"]).replace("\0", "\N{REPLACEMENT CHARACTER}").strip()
        read = frozenset(_paths(frame.get("read")))
        said = said[:LONGEST_ERROR] or "Reading the file failed with an error without a message."
        return ParsedFile(error=said, read=read)
    dags, contents = frame.get("dags"), frame.get("files")
    if not isinstance(dags, list) or not isinstance(contents, dict):
        raise SerializationError("it has no DAGs, or no files.")
    files: dict[str, str] = {}
    by_hash: dict[str, bytes] = {}
    for name, content in contents.items():
        if not isinstance(content, bytes) or not _is_inside(name):
            raise SerializationError(f"{name!r} is no file of the bundle.")
        files[name] = content_hash(content)
        by_hash[files[name]] = content
    manifest = manifest_hash(files)
    versions = tuple(_version(path, data, manifest) for data in dags)
    return ParsedFile(versions, files, by_hash, read=frozenset(files))


def _paths(names: object) -> Iterator[str]:
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and _is_inside(name):
            yield name


def _is_inside(name: str) -> bool:
    pure = PurePosixPath(name)
    whole = bool(pure.parts) and "\0" not in name
    return whole and not pure.is_absolute() and ".." not in pure.parts


def _version(path: str, data: object, manifest: str) -> NewVersion:
    if not isinstance(data, bytes):
        raise SerializationError("a DAG in it is no bytes.")
    spec = codec.decode(data)
    if spec.relative_path != path:
        raise SerializationError(f"its DAG {spec.dag_id} claims to be of {spec.relative_path!r}.")
    check_sound(spec)
    registry.decode(spec.timetable)  # TimetableError for one that no scheduler could use
    return NewVersion(spec, data, codec.fingerprint(data, manifest), manifest)
