"""Copies of files and folders within a store, from one store to another, and to this machine."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headway.sdk.storage.options import FILES

if TYPE_CHECKING:
    from headway.sdk.storage.path import ObjectStoragePath


def copy(
    source: "ObjectStoragePath", target: "ObjectStoragePath", recursive: bool, **options: Any
) -> None:
    """Copy a file or a folder; `recursive` is about folders, but for those between two stores."""
    if source.samestore(target):
        source.fs.copy(source.path, target.path, recursive=recursive, **options)
    elif source.protocol in FILES:
        target.fs.put(source.path, target.path, recursive=recursive, **options)
    elif target.protocol in FILES:
        source.fs.get(source.path, target.path, recursive=recursive, **options)
    else:
        _stream(source, target)


def _stream(source: "ObjectStoragePath", target: "ObjectStoragePath") -> None:
    """Copy a file, or all files of a folder: below a folder or a bucket each keeps its key."""
    if not source.exists():
        raise FileNotFoundError(f"{source} does not exist.")
    is_folder = not target.key or target.path.endswith(target.sep) or target.is_dir()
    for file in _files(source):
        into = target / file.key if is_folder or file is not source else target
        with file.open("rb") as read, into.open("wb") as written:
            shutil.copyfileobj(read, written)


def _files(source: "ObjectStoragePath") -> Iterator["ObjectStoragePath"]:
    if source.is_file():
        yield source
    else:
        yield from (source.with_segments(found) for found in source.fs.find(source.path))
