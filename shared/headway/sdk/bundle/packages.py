"""A `.zip` file as one DAG file: what may be in it, and the modules that it begins with."""

import re
import struct
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from importlib.abc import SourceLoader
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from headway.domain.errors import DagError

SUFFIX: Final = ".zip"
MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 256 * 2**20
"""Bytes of all entries together, unpacked."""

_LOCAL_HEADER: Final = 30
_ENTRY: Final = re.compile(rb"PK\x01\x02.{24}(..).{16}", re.DOTALL)
_END_OF_DIRECTORY: Final = b"PK\x05\x06"
_END_WITHIN: Final = 22 + 2**16
_ENCRYPTED: Final = 1
_SLICE: Final = 2**20


class PackagedModule(SourceLoader):
    """Import the source of an entry at the package's root, under whatever name."""

    def __init__(self, package: Path, entry: str, source: bytes) -> None:
        self.file = f"{package}/{entry}"
        self.entry = entry
        self.source = source

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002
        """Name the place inside the package, as Python's own import from packages does."""
        return self.file

    def get_data(self, path: str | bytes) -> bytes:
        """Return the source; there is no bytecode."""
        if path != self.file:
            raise OSError(f"{path!r} is not this module's")
        return self.source

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002
        """Say no: an `__init__.py` at the root is a module like any other."""
        return False


def mentions_dags(content: bytes) -> bool:
    """Whether a source looks as if it made DAGs: it mentions "dag", and "headway" or "airflow"."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # Python will say what is wrong with it
        content = content.replace(b"\0", b"")
    content = content.lower()
    return b"dag" in content and (b"headway" in content or b"airflow" in content)


def names_modules(content: bytes) -> bool:
    """Whether a package seems to have a module at its root; so does what is no sound package.

    It is told from the names of the entries, without unpacking anything.
    """
    if _END_OF_DIRECTORY not in content[-_END_WITHIN:]:
        return True
    return any(
        name.endswith(b".py") and b"/" not in name
        for found in _ENTRY.finditer(content)
        for name in [content[found.end() : found.end() + int.from_bytes(found[1], "little")]]
    )


def dag_modules(package: Path, content: bytes) -> list[PackagedModule]:
    """Return the modules at the package's root that look like DAG files, sorted by name.

    Raises DagError for a package that is none, or more than a package may be.
    """
    try:
        return list(_dag_modules(package, content))
    except (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError) as why:
        raise DagError(f"{package.name} is no sound zip file: {why}.") from None


def _dag_modules(package: Path, content: bytes) -> Iterator[PackagedModule]:
    with BytesIO(content) as raw, ZipFile(raw) as opened:
        entries = opened.infolist()
        _check(package, entries)
        for entry in sorted(entries, key=lambda entry: entry.filename):
            is_root_module = "/" not in entry.filename and entry.filename.endswith(".py")
            content = b"".join(_unpacked(raw, entry, keep=is_root_module))
            if is_root_module and mentions_dags(content):
                yield PackagedModule(package, entry.filename, content)


def _check(package: Path, entries: list[ZipInfo]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise DagError(f"{package.name} has {len(entries):,} entries; {MOST_ENTRIES:,} at most.")
    size = sum(entry.file_size for entry in entries)
    if size > MOST_BYTES:
        raise DagError(f"{package.name} unpacks to {size:,} bytes; {MOST_BYTES:,} at most.")
    for entry in entries:
        name = entry.filename
        if not _is_inside(name) or "\\" in entry.orig_filename or "\0" in entry.orig_filename:
            raise DagError(f"{package.name} has an entry {name!r}, which leads out of it.")
        if entry.flag_bits & _ENCRYPTED:
            raise DagError(f"{package.name} is encrypted ({name!r}); Headway has no password.")
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise DagError(
                f"{package.name}: {name!r} is packed in a way that Python cannot import."
            )


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _unpacked(raw: BinaryIO, entry: ZipInfo, *, keep: bool) -> Iterator[bytes]:
    """Unpack an entry bit by bit as far as it says it goes; yield it if it is to be kept.

    Python's import unpacks without looking at what an entry says of itself, so that is
    checked here for all of them.
    """
    if entry.header_offset < 0:
        raise BadZipFile(f"{entry.filename!r} lies before its beginning")
    raw.seek(entry.header_offset)
    name, extra = struct.unpack("<26xHH", raw.read(_LOCAL_HEADER))
    raw.seek(entry.header_offset + _LOCAL_HEADER + name + extra)
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if entry.compress_type else None
    size = crc = 0
    for piece in _pieces(raw, entry.compress_size, unpacker):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > entry.file_size:
            break
        if keep:
            yield piece
    if size != entry.file_size or crc != entry.CRC:
        raise BadZipFile(f"{entry.filename!r} is not what the directory says of it")


def _pieces(raw: BinaryIO, size: int, unpacker: "zlib._Decompress | None") -> Iterator[bytes]:
    while size > 0:
        packed = raw.read(min(size, _SLICE))
        if not packed:
            raise EOFError("it ends too early")
        size -= len(packed)
        if unpacker is None:
            yield packed
            continue
        while packed:
            yield unpacker.decompress(packed, _SLICE)
            packed = unpacker.unconsumed_tail
    if unpacker is not None:
        yield unpacker.flush()
