"""A DagSpec as msgpack bytes and back.

The bytes hold a format version and plain data only.  What comes back is bounded
while it is decoded and validated by pydantic before anything else sees it; no
part of it is ever imported or called by name.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgpack
from pydantic import TypeAdapter, ValidationError

from headway.domain.errors import SerializationError
from headway.domain.spec import DagSpec
from headway.serialization import decoding as bounded

FORMAT_VERSION: Final = 2
READABLE: Final = (1, 2)
"""Formats that are read.  What the first one lacks has defaults."""

LATER: Final = frozenset({"dynamic", "reparse_on_run", "min_file_process_interval"})
"""What a DAG is written with only where it says something, so that all others stay what they were.

A release that does not know these leaves them out of account, rather than refusing the DAG: its
workers run it, and its schedulers start the runs without waiting for a parse.
"""

LARGEST: Final = 64 * 2**20
"""Bytes of a serialized DAG beyond which it is refused."""

MOST_ELEMENTS: Final = 5_000_000
"""Items of lists and maps in it, taken together: enough for a hundred thousand tasks."""

_ADAPTER: Final = TypeAdapter(DagSpec)


def encode(spec: DagSpec) -> bytes:
    """Return the canonical bytes of a DAG: equal specifications give equal bytes."""
    fields = _ADAPTER.dump_python(spec, mode="json")
    dag = _sorted({name: fields[name] for name in fields if name not in LATER or fields[name]})
    data: bytes = msgpack.packb({"format": FORMAT_VERSION, "dag": dag})
    if len(data) > LARGEST:
        raise SerializationError(
            f"The DAG {spec.dag_id} takes {len(data):,} bytes; {LARGEST:,} is the limit. "
            "Split it, or pass its data by file."
        )
    return data


def decode(data: bytes) -> DagSpec:
    """Return the DAG that `encode` made these bytes of; SerializationError for any other bytes."""
    if len(data) > LARGEST:
        raise SerializationError(f"A serialized DAG of {len(data):,} bytes is over the limit.")
    try:
        envelope = bounded.decode(data, most_elements=MOST_ELEMENTS)
    except SerializationError as error:
        raise SerializationError(f"These bytes are no serialized DAG: {error}") from error
    if not isinstance(envelope, dict) or "format" not in envelope:
        raise SerializationError("These bytes are no serialized DAG: they carry no format version.")
    if envelope["format"] not in READABLE:
        raise SerializationError(
            f"The serialized DAG is of format {envelope['format']!r}; this Headway reads formats "
            f"{' and '.join(map(str, READABLE))}. Let the parser of this version read the DAG file "
            "again."
        )
    try:
        return _ADAPTER.validate_python(envelope.get("dag"))
    except ValidationError as error:
        raise SerializationError(f"The serialized DAG is malformed: {error}") from error


def fingerprint(data: bytes, manifest_hash: str) -> str:
    """Return what identifies a DAG's version: its serialized form and the code it was read from."""
    return sha256(sha256(data).digest() + manifest_hash.encode()).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
