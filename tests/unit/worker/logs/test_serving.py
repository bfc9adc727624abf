"""Which requests for logs a worker answers."""

from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest

from headway.runtime.health.page import Page
from headway.runtime.logs import tickets
from headway.runtime.logs.reading import LocalLogs
from headway.runtime.secrets.keyring import KeyRing, new_key
from headway.testing.time.clock import FakeClock
from headway_worker.logs.serving import MOST, LogPages

RING = KeyRing((new_key(),))
LOG = Path("dag_id=etl") / "run_id=a b,task_id=t,map_index=-1,attempt=1.log"
CONTENT = b"0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs" / LOG).parent.mkdir(parents=True)
    (tmp_path / "logs" / LOG).write_bytes(CONTENT)
    (tmp_path / "secret").write_text("secret")
    return tmp_path / "logs"


def ask(
    folder: Path, path: str, headers: dict[str, str] | None = None, relative: Path = LOG
) -> Page | None:
    """Ask for a path, with a ticket for `relative`."""
    clock = FakeClock()
    ticket = tickets.make(RING, relative, clock.now())
    given = {"authorization": f"Bearer {ticket}", "range": "bytes=0-99"}
    return LogPages(LocalLogs(folder), lambda: RING, clock)(path, {**given, **(headers or {})})


def place(relative: Path = LOG) -> str:
    return f"/logs/{quote(relative.as_posix())}"


def test_a_ticket_opens_a_log(folder: Path) -> None:
    page = ask(folder, place())

    assert page is not None
    assert (page.status, page.body) == (HTTPStatus.PARTIAL_CONTENT, CONTENT)
    assert page.headers == {"Content-Range": "bytes 0-9/10"}


@pytest.mark.parametrize(
    ("asked", "body", "told"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=9-9", b"9", "bytes 9-9/10"),
        ("bytes=10-20", b"", "bytes */10"),
        ("bytes=5-4", b"", "bytes */10"),
    ],
)
def test_a_range_is_read(folder: Path, asked: str, body: bytes, told: str) -> None:
    page = ask(folder, place(), {"range": asked})

    assert page is not None
    assert (page.body, page.headers["Content-Range"]) == (body, told)


def test_an_answer_has_a_bound(folder: Path) -> None:
    (folder / LOG).write_bytes(b"x" * (MOST + 5))

    page = ask(folder, place(), {"range": "bytes=0-99999999"})

    assert page is not None
    assert len(page.body) == MOST


@pytest.mark.parametrize("asked", ["", "bytes=-5", "bytes=0-", "bytes=0-1,3-4", "lines=0-1"])
def test_what_is_no_range_is_refused(folder: Path, asked: str) -> None:
    page = ask(folder, place(), {"range": asked})

    assert page is not None
    assert page.status is HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer none", "Basic x"])
def test_without_a_ticket_nothing_is_shown(folder: Path, shown: str) -> None:
    page = ask(folder, place(), {"authorization": shown})

    assert page is not None
    assert page.status is HTTPStatus.FORBIDDEN


def test_a_ticket_for_another_log_shows_nothing(folder: Path) -> None:
    page = ask(folder, place(), relative=LOG.with_name("another.log"))

    assert page is not None
    assert page.status is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    "path", ["/logs/../secret", "/logs/..%2Fsecret", "/logs//etc/passwd", "/logs/%2Fetc%2Fpasswd"]
)
def test_no_path_leads_out_of_the_folder(folder: Path, path: str) -> None:
    page = ask(folder, path, relative=Path("../secret"))

    assert page is not None
    assert page.status in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}
    assert b"secret" not in page.body


def test_a_link_in_place_of_a_log_is_not_followed(folder: Path) -> None:
    (folder / LOG).unlink()
    (folder / LOG).symlink_to(folder.parent / "secret")

    page = ask(folder, place())

    assert page is not None
    assert page.status is HTTPStatus.SERVICE_UNAVAILABLE


def test_another_path_is_none_of_a_log(folder: Path) -> None:
    assert ask(folder, "/metrics") is None


def test_the_clock_decides(folder: Path) -> None:
    late = FakeClock(datetime.fromisoformat("2030-01-01T00:00Z"))
    ticket = tickets.make(RING, LOG, FakeClock().now())
    pages = LogPages(LocalLogs(folder), lambda: RING, late)

    page = pages(place(), {"authorization": f"Bearer {ticket}", "range": "bytes=0-9"})

    assert page is not None
    assert page.status is HTTPStatus.FORBIDDEN
