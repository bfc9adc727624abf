"""Each check of what clients were answered finds what it is for, and nothing where all is well."""

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

import pytest
from tests.chaos.clients.answers import AFTERWARDS, COMES_BACK, Asked, unlike, violations
from tests.chaos.clients.exchange import ASKED, CHANGES, Exchange, WishKind, read_exchanges
from tests.chaos.clients.stored import AskedRun, Stored
from tests.chaos.clients.watchers import LiveState, SentEvent, events
from tests.chaos.fault_series import Span

TOPIC = f"dag:{ASKED}"


def exchange(kind: WishKind, key: str = "", at: float = 0.0, **more: Any) -> Exchange:
    given: dict[str, Any] = {"status": 200, **more}
    return Exchange(kind, key or f"{kind}-1", "", "api-1", "/", at, at + 1, **given)


def changed(kind: WishKind, mark: str, **more: Any) -> Exchange:
    return replace(exchange(kind, **more), mark=mark)


def good() -> Asked:
    """One request of each kind, and a trigger that was sent twice."""
    trigger = changed(WishKind.TRIGGER, "t-1", key="t-1", said="run-1")
    lost = replace(trigger, status=None, said="TimeoutError('timed out')")
    others = [
        changed(WishKind.MARK, "m-1"),
        changed(WishKind.CLEAR, "c-1"),
        changed(WishKind.PAUSE, ""),
        changed(WishKind.UNPAUSE, ""),
        changed(WishKind.POOL, "101"),
        exchange(WishKind.REHEARSE),
        exchange(WishKind.READ),
        exchange(WishKind.WATCH),
    ]
    return Asked([lost, trigger, *others], [Span("kill api", 0.5, 0.9)])


def stored() -> Stored:
    journal = {
        ("run.trigger", "t-1"): 1,
        ("run.mark", "m-1"): 1,
        ("run.clear", "c-1"): 1,
        ("dag.pause", ""): 1,
        ("dag.unpause", ""): 1,
        ("pool.set", "101"): 1,
    }
    return Stored([AskedRun("run-1", "success", "t-1")], Counter(journal), 101)


def without(asked: Asked, kind: WishKind) -> Asked:
    return replace(asked, exchanges=[it for it in asked.exchanges if it.kind is not kind])


def with_one(asked: Asked, more: Exchange) -> Asked:
    return replace(asked, exchanges=[*asked.exchanges, more])


def test_answers_with_which_all_is_well_have_no_violations() -> None:
    assert violations(good(), stored()) == []


def test_what_was_written_is_read_again() -> None:
    lines = [json.dumps(asdict(it)) for it in good().exchanges]

    assert read_exchanges(lines) == good().exchanges


def test_a_trigger_that_was_answered_and_whose_run_is_lost() -> None:
    lost = replace(stored(), runs=[])

    assert violations(good(), lost) == [
        "t-1: the run run-1 of the answer is not in the database",
    ]


def test_an_answer_that_names_the_run_of_another_trigger() -> None:
    runs = [AskedRun("run-1", "success", "t-2"), AskedRun("run-2", "success", "t-1")]
    other = changed(WishKind.TRIGGER, "t-2", key="t-2", said="run-1")
    journal = stored().journal + Counter({("run.trigger", "t-2"): 1})

    found = violations(with_one(good(), other), replace(stored(), runs=runs, journal=journal))

    assert found == ["t-1: the run run-1 of the answer is not in the database"]


def test_a_key_by_which_two_runs_were_made() -> None:
    again = AskedRun("run-2", "success", "t-1")

    assert violations(good(), replace(stored(), runs=[*stored().runs, again])) == [
        "t-1: 2 runs were made by one key"
    ]


def test_a_run_that_a_rehearsal_has_left() -> None:
    left = AskedRun("run-2", "queued", "rehearse-1")

    assert violations(good(), replace(stored(), runs=[*stored().runs, left])) == [
        "run run-2 is of rehearse-1, by which no run was to be made"
    ]


@pytest.mark.parametrize(
    ("action", "mark"),
    [
        ("run.trigger", "t-1"),
        ("run.mark", "m-1"),
        ("run.clear", "c-1"),
        ("dag.pause", ""),
        ("pool.set", "101"),
    ],
)
@pytest.mark.parametrize("times", [0, 2])
def test_a_change_that_is_not_in_the_journal_once(action: str, mark: str, times: int) -> None:
    journal = Counter({**stored().journal, (action, mark): times})

    assert violations(good(), replace(stored(), journal=journal)) == [
        f"{action} {mark}".rstrip() + f": 1 answered well, {times} in the journal of the person"
    ]


def test_a_change_of_the_pool_that_is_lost() -> None:
    assert violations(good(), replace(stored(), slots=100)) == [
        "the pool has 100 slots and was changed to 101"
    ]


def test_a_change_that_is_never_answered() -> None:
    never = exchange(WishKind.CLEAR, "c-2", status=503, said="away")

    assert violations(with_one(good(), never), stored()) == ["c-2 was never answered: away"]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 500, 502])
def test_a_request_that_is_refused(status: int) -> None:
    refused = exchange(WishKind.READ, "read-2", status=status, said="no")

    assert violations(with_one(good(), refused), stored()) == [
        f"read-2 of api-1: {status} for /: no"
    ]


@pytest.mark.parametrize(("status", "how"), [(503, "503"), (None, "no answer")])
@pytest.mark.parametrize(
    ("kind", "ended", "is_found"),
    [
        ("kill Postgres", 100.0, False),
        ("kill Postgres", 100.0 - AFTERWARDS, False),
        ("kill Postgres", 99.0 - AFTERWARDS, True),
        ("kill parser", 100.0, True),
    ],
)
def test_a_request_without_an_answer_must_have_a_fault_in_its_way(
    status: int | None, how: str, kind: str, ended: float, is_found: bool
) -> None:
    away = exchange(WishKind.READ, "read-2", at=100.0, status=status, said="away")
    backs = [exchange(WishKind.READ, "read-3", at=at) for at in (2.0, ended + 0.1)]
    faults = [*good().faults, Span(kind, 50, ended)]
    asked = Asked([*good().exchanges, *backs, away], faults)

    found = [f"read-2 of api-1: {how} after 1.0 s for /: away"] if is_found else []
    assert violations(asked, stored()) == found


@pytest.mark.parametrize(
    ("back", "is_found"), [(99.0, True), (100.5, False), (100 + 2 * COMES_BACK, False)]
)
def test_an_api_is_in_the_way_until_it_answers_again(back: float, is_found: bool) -> None:
    away = exchange(WishKind.READ, "read-2", at=100.0, status=None, said="away")
    other = replace(exchange(WishKind.READ, "read-3", at=51.0), api="api-2")
    answer = exchange(WishKind.READ, "read-4", at=back - 1)
    faults = [*good().faults, Span("kill api", 40, 50)]
    asked = Asked([*good().exchanges, other, away, answer], faults)

    assert bool(violations(asked, stored())) is is_found


def test_an_api_that_does_not_come_back_is_found() -> None:
    late = exchange(WishKind.READ, "read-2", at=50.1 + COMES_BACK, status=None, said="away")
    asked = Asked([*good().exchanges, late], [*good().faults, Span("kill api", 40, 50)])

    assert len(violations(asked, stored())) == 1


def test_a_connection_that_is_refused_needs_no_fault() -> None:
    refused = exchange(WishKind.READ, at=500.0, status=None, said="ConnectionRefusedError(111)")

    assert violations(with_one(good(), refused), stored()) == []


@pytest.mark.parametrize("kind", sorted(set(WishKind) - CHANGES))
def test_a_kind_of_request_that_was_never_answered_well(kind: WishKind) -> None:
    assert violations(without(good(), kind), stored()) == [f"{kind}: no request was answered well"]


def test_a_client_that_watches_knows_the_end() -> None:
    state = LiveState()
    entries = {"dag": {"paused": True, "queued": 1}, "run/run-1": {"state": "running"}}
    shown = {"topic": TOPIC, "entries": {**entries, "cell/run-1/done": "running"}}
    state.apply(SentEvent("snapshot", "1", shown))
    found = [*unlike(state, stored())]
    assert [it.split(" has ")[1] for it in found] == [
        "dag as {'paused': True, 'queued': 1}, and it is {'paused': False, 'queued': 0}",
        "run/run-1 as {'state': 'running'}, and it is {'state': 'success'}",
        "cell/run-1/done, and nothing runs",
    ]

    ended = {"dag": {"paused": False, "queued": 0}, "run/run-1": {"state": "success"}}
    change = {"topic": TOPIC, "changed": ended, "gone": ["cell/run-1/done"]}
    state.apply(SentEvent("change", "2", change))

    assert [*unlike(state, stored())] == []
    assert state.last_event_id == "2"


def test_a_client_that_has_seen_nothing_of_a_topic_knows_nothing() -> None:
    state = LiveState()
    state.apply(SentEvent("gone", "1", {"topic": TOPIC}))

    assert len([*unlike(state, stored())]) == 2


def test_events_are_read_from_lines() -> None:
    lines = [
        b"retry: 2000\n",
        b"\n",
        b"id: 7\n",
        b"event: snapshot\n",
        b'data: {"topic":"home"}\n',
        b"\n",
        b":\n",
        b"\n",
        b"event: change\n",
        b'data: {"topic":"ho',
    ]

    assert [*events(iter(lines))] == [SentEvent("snapshot", "7", {"topic": "home"})]
