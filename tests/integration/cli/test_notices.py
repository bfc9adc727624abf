"""Commands that change something tell the schedulers, once it is committed."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from headway.cli.input.session import transaction
from headway.db.core import notices
from headway.db.core.notices import SCHEDULER, Notice

INSERT = text("INSERT INTO pool (name, slots) VALUES ('new', 1)")
NONSENSE = text("INSERT INTO pool (name, slots) VALUES ('new', -1)")
COUNT = text("SELECT count(*) FROM pool WHERE name = 'new'")


@pytest.fixture
def told(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Notice, int]]:
    """What is told, with how many pools of the name "new" could be seen then."""
    told: list[tuple[Notice, int]] = []

    def send(_engine: Engine, sent: list[Notice]) -> None:
        with engine.connect() as conn:
            told.extend((notice, conn.scalar(COUNT) or 0) for notice in sent)

    monkeypatch.setattr(notices, "send", send)
    monkeypatch.setenv("HEADWAY_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADWAY_DATABASE_NOTIFY", "true")
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", "false")
    return told


def test_a_change_is_told_of_after_its_commit(told: list[tuple[Notice, int]]) -> None:
    with transaction(changes=True) as conn:
        conn.execute(INSERT)
        assert told == []

    assert told == [(SCHEDULER, 1)]


def test_a_change_that_fails_is_not_told_of(told: list[tuple[Notice, int]]) -> None:
    with pytest.raises(IntegrityError), transaction(changes=True) as conn:
        conn.execute(NONSENSE)

    assert told == []


def test_a_look_is_not_told_of(told: list[tuple[Notice, int]]) -> None:
    with transaction() as conn:
        conn.execute(COUNT)

    assert told == []


def test_where_notices_are_switched_off_nothing_is_told(
    told: list[tuple[Notice, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_NOTIFY", "false")
    with transaction(changes=True) as conn:
        conn.execute(INSERT)

    assert told == []
