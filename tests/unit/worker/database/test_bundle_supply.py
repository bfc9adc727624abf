"""What an attempt is given of its bundle: the manifest by its hash, and contents on demand."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection

import headway_worker.database.worker_database
from headway.db.core import stored_versions
from headway.domain.errors import DagError
from headway.runtime.processes.frames import Frame, encode_frame
from headway.sdk.bundle.bundle_code import BundleCode
from headway.serialization.manifest import content_hash, manifest_hash
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.protocol.supply import WorkerSupply

OWN = {"etl.py": b"DAG"}
BUNDLE = {f"{number}.csv": f"content {number}".encode() for number in range(2_000)}
CONTENTS = {content_hash(content): content for content in (*OWN.values(), *BUNDLE.values())}


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: content_hash(content) for path, content in files.items()}


MANIFESTS = {manifest_hash(hashes(files)): hashes(files) for files in (OWN, BUNDLE)}


class Channel:
    """A worker as an attempt of version 7 reaches it; the database has all contents."""

    def __init__(self, database: WorkerDatabase, bundle: str | None) -> None:
        self.database = database
        self.questions = Questions(database, Mock(), Mock(), FakeClock(), Event())
        self.work = Mock()
        self.work.claimed.manifest_hash = manifest_hash(hashes(OWN))
        self.work.claimed.version_id = 7
        self.bundle = bundle
        self.asked: list[str] = []
        self.sent = 0

    def ask(self, question: Frame) -> Frame:
        answer = self.questions.answer(self.work, question).frame
        self.asked.append(question["ask"])
        self.sent += len(encode_frame(answer))
        if "error" in answer:
            raise DagError(answer["error"])
        return answer


@pytest.fixture
def channel(database: WorkerDatabase, monkeypatch: pytest.MonkeyPatch) -> Channel:
    found = Channel(database, manifest_hash(hashes(BUNDLE)))
    monkeypatch.setattr(
        headway_worker.database.worker_database, "reader", lambda _engine: database.engine
    )
    monkeypatch.setattr(database.engine, "connect", lambda: nullcontext(Mock(spec=Connection)))
    monkeypatch.setattr(stored_versions, "manifest", lambda _conn, key: MANIFESTS[key])
    monkeypatch.setattr(stored_versions, "bundle_hash", lambda *_: found.bundle)
    monkeypatch.setattr(
        stored_versions, "contents", lambda _, keys: {key: CONTENTS[key] for key in keys}
    )
    monkeypatch.setattr(
        stored_versions,
        "piece",
        lambda _, key, start, size: stored_versions.Piece(
            CONTENTS[key][start : start + size], len(CONTENTS[key])
        ),
    )
    return found


def supply(channel: Channel) -> WorkerSupply:
    return WorkerSupply(channel.database.code.folder, channel.ask)


def there(channel: Channel) -> int:
    return len(list(channel.database.code.folder.iterdir()))


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attempt")


@pytest.mark.regression
def test_an_attempt_is_sent_a_hash_and_no_manifest(channel: Channel) -> None:
    assert supply(channel).others() == hashes(BUNDLE)

    assert channel.asked == ["bundle"]
    assert channel.sent < 200
    assert there(channel) == 1  # the manifest, and no content


@pytest.mark.regression
def test_only_contents_that_are_asked_for_are_fetched(channel: Channel, place: Path) -> None:
    code = BundleCode(place / "code", hashes(OWN), supply(channel))

    assert code.read("3.csv") == b"content 3"
    code.need("4.csv")

    assert (code.root / "4.csv").read_bytes() == b"content 4"
    assert not (code.root / "5.csv").exists()
    assert there(channel) == 1 + 1 + 2  # manifest, the DAG file, two of the bundle


def test_many_contents_are_asked_for_at_a_time(channel: Channel, place: Path) -> None:
    code = BundleCode(place / "code", hashes(OWN), supply(channel))
    code.place(everything=True)

    assert len(list(code.root.iterdir())) == 2_001
    assert channel.asked == ["bundle", *["contents"] * 5]


def test_what_is_there_is_not_asked_for_again(channel: Channel, place: Path) -> None:
    for name in ("first", "second"):
        code = BundleCode(place / name, hashes(OWN), supply(channel))
        channel.asked.clear()
        code.place(everything=True)

    assert channel.asked == ["bundle"]


def test_a_manifest_that_was_rewritten_comes_from_the_worker(channel: Channel) -> None:
    supply(channel).others()
    assert channel.bundle is not None
    (channel.database.code.folder / channel.bundle).write_bytes(b"another")

    assert supply(channel).others() == hashes(BUNDLE)
    assert channel.asked == ["bundle", "bundle", "code"]


def test_contents_of_other_versions_are_not_given(channel: Channel) -> None:
    for ask in ({"ask": "contents", "hashes": ["0" * 64]}, {"ask": "code", "hash": "0" * 64}):
        with pytest.raises(DagError, match="is none of this version's"):
            channel.ask({**ask, "start": 0})


def test_what_the_worker_has_forgotten_of_a_version_is_looked_up_again(channel: Channel) -> None:
    attempt = supply(channel)
    attempt.others()
    channel.database.code._bundles.clear()  # as when versions beyond MOST_KNOWN were asked for

    assert attempt.content(content_hash(b"content 7")) == b"content 7"


def test_an_attempt_keeps_what_it_was_given_when_its_version_gets_more(channel: Channel) -> None:
    attempt = supply(channel)
    assert attempt.others() == hashes(BUNDLE)
    channel.bundle = manifest_hash(hashes(OWN))  # a later scan has found others

    assert attempt.content(content_hash(b"content 7")) == b"content 7"


def test_a_version_of_an_older_release_has_none(channel: Channel) -> None:
    channel.bundle = None

    assert supply(channel).others() == {}
