"""Events as clients read them: server-sent events whose data is one line of JSON."""

import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from headway_api.live.differences import Difference, Snapshot
from headway_api.live.topics import Topic

COMMENT: Final = b":\n\n"
"""What says that the stream is open when nothing changes."""

RETRY: Final = 2_000
"""Milliseconds after which a client opens the stream again."""

BEGIN: Final = b"retry: %d\n\n" % RETRY


class EventName(StrEnum):
    """The events of a stream."""

    SNAPSHOT = "snapshot"
    CHANGE = "change"
    GONE = "gone"
    BYE = "bye"
    PAGE = "page"
    CELLS = "cells"


class EndReason(StrEnum):
    """Why a stream ends."""

    STOPPING = "stopping"
    SIGNED_OUT = "signed_out"
    ACCOUNT_CHANGED = "account_changed"
    FAULT = "fault"
    FULL = "full"
    DISCONNECTED = "disconnected"


def snapshot(topic: Topic, at: datetime, entries: Snapshot) -> bytes:
    """Return an event, still without its id, that tells all of a subject."""
    shown = _head(topic, at) + b',"entries":' + _object(entries)
    return _event(EventName.SNAPSHOT, shown)


def change(topic: Topic, at: datetime, difference: Difference) -> bytes:
    """Return an event, still without its id, that tells what has changed of a subject."""
    shown = _head(topic, at)
    if difference.changed:
        shown += b',"changed":' + _object(difference.changed)
    if difference.gone:
        shown += b',"gone":' + json.dumps(difference.gone).encode()
    return _event(EventName.CHANGE, shown)


def gone(topic: Topic, at: datetime) -> bytes:
    """Return an event, still without its id: the subject is not there, or is hidden."""
    return _event(EventName.GONE, _head(topic, at))


def page_data(body: bytes, *, in_gzip: bool) -> bytes:
    """Return the data of an event that has a page: a line, which many events may share."""
    coding = b"gzip" if in_gzip else b"identity"
    return b'{"coding":"' + coding + b'","body":"' + b64encode(body) + b'"}'


def page(name: EventName, data: bytes) -> bytes:
    """Return an event, still without its id, that has a page or cells."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def bye(reason: EndReason) -> bytes:
    """Return the last event of a stream."""
    return f'event: {EventName.BYE}\nretry: {RETRY}\ndata: {{"reason":"{reason}"}}\n\n'.encode()


def with_id(event: bytes, number: str) -> bytes:
    """Return an event with its id."""
    return b"id: " + number.encode() + b"\n" + event


def _event(name: EventName, opened: bytes) -> bytes:
    """Return an event whose data is this JSON object, which is still open."""
    return b"event: " + name.encode() + b"\ndata: " + opened + b"}\n\n"


def _head(topic: Topic, at: datetime) -> bytes:
    return f'{{"topic":{json.dumps(str(topic))},"at":"{at.isoformat()}"'.encode()


def _object(entries: Mapping[str, str]) -> bytes:
    pairs = ",".join(f"{json.dumps(name)}:{value}" for name, value in entries.items())
    return f"{{{pairs}}}".encode()
