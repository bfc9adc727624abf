from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headway.runtime.logs import tickets
from headway.runtime.secrets.keyring import KeyRing, new_key

NOW = datetime.fromisoformat("2026-11-27T10:00Z")
LOG = Path("dag_id=etl", "run_id=r,task_id=t,map_index=-1,attempt=1.log")
OLD, NEW = new_key("old"), new_key("new")
RING = KeyRing((NEW, OLD))


@pytest.mark.parametrize("seconds", [-50, 0, 299, 350])
def test_a_ticket_is_good_for_its_log_for_five_minutes(seconds: int) -> None:
    ticket = tickets.make(RING, LOG, NOW)

    assert tickets.is_good(RING, LOG, ticket, NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize("seconds", [-70, 361, 10**6])
def test_a_ticket_is_not_good_at_another_time(seconds: int) -> None:
    ticket = tickets.make(RING, LOG, NOW)

    assert not tickets.is_good(RING, LOG, ticket, NOW + timedelta(seconds=seconds))


def test_a_ticket_is_not_good_for_another_log() -> None:
    ticket = tickets.make(RING, LOG, NOW)

    assert not tickets.is_good(RING, LOG.with_name("another.log"), ticket, NOW)


def test_a_ticket_by_an_old_key_is_good_where_the_key_is_known() -> None:
    ticket = tickets.make(KeyRing((OLD,)), LOG, NOW)

    assert tickets.is_good(RING, LOG, ticket, NOW)
    assert not tickets.is_good(KeyRing((NEW,)), LOG, ticket, NOW)


def test_a_ticket_by_another_key_of_the_same_name_is_not_good() -> None:
    ticket = tickets.make(KeyRing((new_key("new"),)), LOG, NOW)

    assert not tickets.is_good(RING, LOG, ticket, NOW)


@pytest.mark.parametrize(
    "ticket", ["", "new", "new:", "new::", "new:1:x", "new:²:x", "new:99999999999999:é", ":::"]
)
def test_what_is_no_ticket_is_not_good(ticket: str) -> None:
    assert not tickets.is_good(RING, LOG, ticket, NOW)


def test_a_longer_time_cannot_be_written_into_a_ticket() -> None:
    key_id, until, signature = tickets.make(RING, LOG, NOW).split(":")
    longer = f"{key_id}:{int(until) + 60}:{signature}"

    assert not tickets.is_good(RING, LOG, longer, NOW)
