"""What a task asks on its channel, which its threads share: an answer names no question."""

import select
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted
from headway.domain.interval import DataInterval
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.exceptions import (
    AirflowException,
    RefusedException,
    StateStoreError,
    XComError,
)
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import RunName
from headway_worker.child.attempt import ChannelRuntime
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.run_request import answer_to_frame, wanted_from_frame
from headway_worker.protocol.supply import Code

T = TypeVar("T")

ORDER = TaskOrder(
    cron_semantics=CronSemantics.INTERVAL,
    code=Code(Path("/code"), {}),
    relative_path="etl.py",
    facts=RunFacts(
        dag_id="etl",
        run_id="manual__1",
        task_id="load",
        data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
    ),
    attempt_key="1-1",
    max_xcom_bytes=1000,
)


def test_questions_of_several_threads_do_not_mix() -> None:
    ours, theirs = socket.socketpair()
    runtime = ChannelRuntime(theirs, ORDER)
    with ours, theirs, ThreadPoolExecutor(4) as threads:
        pulls = {n: threads.submit(runtime.pull_xcom, f"task_{n}", "key") for n in range(4)}
        for _ in pulls:
            question = receive_frame(ours)
            assert question is not None
            another, _, _ = select.select([ours], [], [], 0.1)
            assert not another, "a second question came before the first was answered"
            send_frame(ours, {"found": True, "value": question["task_id"]})

        assert {n: pull.result() for n, pull in pulls.items()} == {n: f"task_{n}" for n in range(4)}


def converse(
    call: Callable[[ChannelRuntime], T], answers: Sequence[Frame]
) -> tuple[list[Frame], T]:
    """Give these answers to the questions of a call; return the questions, and its result."""
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    questions = []
    with ours, theirs, ThreadPoolExecutor(1) as threads:
        asking = threads.submit(call, ChannelRuntime(theirs, ORDER))
        for answer in answers:
            question = receive_frame(ours)
            assert question is not None
            questions.append(question)
            send_frame(ours, answer)
        return questions, asking.result(timeout=5)


def test_an_instance_is_named_by_its_map_index() -> None:
    questions, value = converse(
        lambda runtime: runtime.pull_xcom("plan", "key", 3), [{"found": True, "value": 7}]
    )

    assert value == 7
    assert questions == [{"ask": "pull_xcom", "task_id": "plan", "key": "key", "map_index": 3}]


def test_a_run_is_asked_for_until_there_is_an_answer() -> None:
    """Each time by the same number: it is one request.  The next one has another."""
    date = datetime(2013, 1, 1, tzinfo=UTC)
    wanted = RunWanted(dag_id="sales", conf={"a": 1}, logical_date=date, waits=True)
    created = RunAnswer(RequestAnswer.CREATED, "r1")
    refused = RunAnswer(RequestAnswer.REFUSED, reason="because")

    def call(runtime: ChannelRuntime) -> list[RunAnswer]:
        return [runtime.trigger_run(wanted), runtime.trigger_run(wanted)]

    frames = [answer_to_frame(answer) for answer in (None, None, created, refused)]
    questions, answers = converse(call, frames)

    assert answers == [created, refused]
    assert [question["number"] for question in questions] == [1, 1, 1, 2]
    assert {wanted_from_frame(question["wanted"]) == wanted for question in questions} == {True}


def test_a_value_is_kept_read_and_removed() -> None:
    def call(runtime: ChannelRuntime) -> object:
        runtime.write_store("k", [1], timedelta(hours=1))
        runtime.write_store("k", [1], None)
        found = runtime.read_store("k")
        with pytest.raises(KeyError):
            runtime.read_store("other")
        runtime.clear_store("k")
        runtime.clear_store(None)
        return found

    saved: Frame = {"saved": True}
    found: list[Frame] = [{"found": True, "value": [1]}, {"found": False}]
    questions, value = converse(call, [saved, saved, *found, saved, saved])

    assert value == [1]
    assert questions == [
        {"ask": "write_store", "key": "k", "value": [1], "seconds": 3600.0},
        {"ask": "write_store", "key": "k", "value": [1], "seconds": None},
        {"ask": "read_store", "key": "k"},
        {"ask": "read_store", "key": "other"},
        {"ask": "clear_store", "key": "k"},
        {"ask": "clear_store", "key": None},
    ]


def test_what_is_kept_has_the_size_that_the_worker_allows_an_xcom() -> None:
    with pytest.raises(StateStoreError, match=r"has 2,002 bytes as JSON; it may have 1,000"):
        converse(lambda runtime: runtime.write_store("k", "x" * 2000, None), [])


def test_a_conf_has_the_size_of_an_xcom() -> None:
    with pytest.raises(XComError, match=r"The conf has 2,0.. bytes"):
        converse(
            lambda runtime: runtime.trigger_run(RunWanted(dag_id="d", conf={"a": "x" * 2000})), []
        )


@pytest.mark.parametrize("state", ["queued", None])
def test_the_state_of_a_run_is_asked_for(state: str | None) -> None:
    questions, found = converse(
        lambda runtime: runtime.run_state(RunName("sales", "r1")), [{"state": state}]
    )

    assert found == state
    assert questions == [{"ask": "run_state", "of": ["sales", "r1"]}]


def test_another_run_is_named() -> None:
    other = RunName("sales", "r1")
    asked: list[tuple[Callable[[ChannelRuntime], Any], Frame]] = [
        (lambda runtime: runtime.pull_xcom("t", "k", of=other), {"found": True, "value": 7}),
        (lambda runtime: runtime.pull_xcoms("t", "k", other), {"values": [], "last": None}),
        (lambda runtime: runtime.latest_run("t", "k", other), {"run_id": "r0"}),
    ]

    found = [converse(call, [answer]) for call, answer in asked]

    assert [value for _, value in found] == [7, [], "r0"]
    named = {"task_id": "t", "key": "k", "of": ["sales", "r1"]}
    assert [questions for questions, _ in found] == [
        [{"ask": "pull_xcom", "map_index": -1, **named}],
        [{"ask": "pull_xcoms", "after": -1, **named}],
        [{"ask": "latest_run", **named}],
    ]


@pytest.mark.parametrize("refused", [True, False])
def test_a_refusal_of_the_worker_is_one_in_the_task(refused: bool) -> None:
    answer: Frame = {"error": "no", "refused": True} if refused else {"error": "no"}
    with pytest.raises(AirflowException, match=r"^no$") as raised:
        converse(lambda runtime: runtime.get_variable("v"), [answer])

    assert isinstance(raised.value, RefusedException) == refused


def test_nothing_left_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        converse(lambda runtime: runtime.pull_xcom("plan", "key"), [{"found": False}])


def test_the_results_of_a_mapped_task_come_page_by_page() -> None:
    pages: list[Frame] = [
        {"values": ["a", "b"], "last": 4},
        {"values": ["c"], "last": 900},
        {"values": [], "last": None},
    ]

    questions, values = converse(lambda runtime: runtime.pull_xcoms("m", "key"), pages)

    assert values == ["a", "b", "c"]
    assert [question["after"] for question in questions] == [-1, 4, 900]
    assert {question["ask"] for question in questions} == {"pull_xcoms"}


def test_one_item_is_asked_for_and_not_the_list() -> None:
    questions, item = converse(
        lambda runtime: runtime.xcom_item("plan", "key", 2), [{"item": [1, 2], "pair": False}]
    )

    assert item == [1, 2]
    assert questions == [{"ask": "xcom_item", "task_id": "plan", "key": "key", "index": 2}]


def test_an_entry_of_a_dictionary_comes_as_a_pair() -> None:
    _, item = converse(
        lambda runtime: runtime.xcom_item("plan", "key", 2), [{"item": ["a", [1]], "pair": True}]
    )

    assert item == ("a", [1])


def test_a_length_is_asked_for_by_itself() -> None:
    questions, length = converse(
        lambda runtime: runtime.xcom_length("plan", "key"), [{"length": 12}]
    )

    assert length == 12
    assert questions == [{"ask": "xcom_length", "task_id": "plan", "key": "key"}]
