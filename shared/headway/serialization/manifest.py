"""The code manifest: which files of the bundle a DAG was read from, by content.

A manifest is itself a content that is known by its hash.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgpack

MOST_FILES: Final = 5_000
MOST_BYTES: Final = 50 * 2**20
"""Files of a bundle that a version may have, or its tasks may read besides, and their bytes."""


def content_hash(content: bytes) -> str:
    """Return the hash under which a file's content is stored."""
    return sha256(content).hexdigest()


def manifest_hash(files: Mapping[str, str]) -> str:
    """Return the identity of a manifest: relative path to content hash."""
    return content_hash(manifest_content(files))


def manifest_content(files: Mapping[str, str]) -> bytes:
    """Return a manifest as bytes, whose hash is its identity."""
    packed: bytes = msgpack.packb(sorted(files.items()))
    return packed


def manifest_files(content: bytes) -> dict[str, str]:
    """Return the files of a manifest that was read as bytes."""
    return dict(msgpack.unpackb(content))
