"""What is stuck in an installation, by how it stands."""

from dataclasses import replace

import pytest

from headway.decide.explain.snapshot import ProcessRow
from headway.decide.explain.status import (
    OpenWork,
    PoolLoad,
    PoolStatus,
    Problem,
    QueueStatus,
    Status,
    Trouble,
    WaitingInPool,
    problems,
    report,
    services,
)

PATIENCE = 300.0


def process(kind: str, number: int = 1, **more: object) -> ProcessRow:
    row = ProcessRow(
        id=number, kind=kind, hostname="h", pid=7, slots=4, busy=1, silent=2.0, alive=True
    )
    return replace(row, **more)  # type: ignore[arg-type]


WELL = Status(
    processes=[process("scheduler"), process("parser", 2), process("worker", 3)],
    waiting=[WaitingInPool("default_pool", "default", 12, 0, 20.0)],
    pools=[PoolStatus("default_pool", 16, 3, 1, 0)],
    queues=[QueueStatus("default", 4, 1, 1.0)],
    backlog=OpenWork(3, 2, 1, 4.0, 2.0),
    trouble=Trouble(0, None, 0, None),
)


def stuck(**changed: object) -> list[Problem]:
    return problems(replace(WELL, **changed), PATIENCE)  # type: ignore[arg-type]


def test_what_waits_for_a_moment_is_not_stuck() -> None:
    assert stuck() == []


@pytest.mark.parametrize("kind", ["scheduler", "parser", "worker"])
def test_a_service_of_which_none_is_alive(kind: str) -> None:
    [problem] = stuck(processes=[row for row in WELL.processes if row.kind != kind])

    assert (problem.what, problem.name) == ("no_service", kind)
    assert problem.remedy.startswith(f"Start one: `headway {kind}`")


def test_a_silent_process_is_told_of_and_does_not_count() -> None:
    silent = process("worker", 3, silent=40.0, alive=False)

    found = stuck(processes=[*WELL.processes[:2], silent])

    assert [problem.what for problem in found] == ["no_service", "silent"]
    assert found[1].sentence == "1 worker silent for up to 40 s: worker 3 (pid 7 on h)."


def test_many_silent_processes_are_one_problem() -> None:
    silent = [process("worker", n, silent=10.0 * n, alive=False) for n in range(3, 12)]

    [problem] = stuck(processes=[*WELL.processes, *silent])

    assert problem.sentence.startswith("9 workers silent for up to 110 s: worker 3 (pid 7 on h), ")
    assert problem.sentence.endswith(" and 5 more.")


@pytest.mark.parametrize(("skew", "said"), [(90.0, "90 s ahead"), (-130.0, "2 min behind")])
def test_a_clock_that_is_wrong(skew: float, said: str) -> None:
    wrong = process("scheduler", 4, clock_skew=skew, clock_is_wrong=True)

    [problem] = stuck(processes=[*WELL.processes, wrong])

    assert problem.sentence == (
        f"The clock of scheduler 4 (pid 7 on h) is {said}: it schedules nothing."
    )


@pytest.mark.parametrize(
    ("waiting", "what", "said"),
    [
        (WaitingInPool("gone", "default", 1, 0, 1.0), "no_pool", "that pool does not exist"),
        (WaitingInPool("closed", "default", 2, 0, 1.0), "no_pool", "that pool has no slots"),
        (
            WaitingInPool("default_pool", "spark", 3, 0, 1.0),
            "no_worker",
            "no worker serves that queue",
        ),
        (
            *(WaitingInPool("default_pool", "default", 4, 0, 301.0), "pool"),
            "4 tasks of pool default_pool and queue default wait, the first for 5 min; 12 of 16",
        ),
    ],
)
def test_tasks_that_wait_for_what_does_not_come(
    waiting: WaitingInPool, what: str, said: str
) -> None:
    pools = [*WELL.pools, PoolStatus("closed", 0, 0, 0, 0)]

    [problem] = stuck(waiting=[waiting], pools=pools)

    assert problem.what == what
    assert said in problem.sentence


def test_a_queue_whose_workers_have_no_slot_is_served_by_none() -> None:
    queues = [*WELL.queues, QueueStatus("spark", 0, 0, None)]

    [problem] = stuck(waiting=[WaitingInPool("default_pool", "spark", 3, 0, 1.0)], queues=queues)

    assert problem.what == "no_worker"


def test_tasks_of_paused_dags_wait_for_nobody() -> None:
    assert stuck(waiting=[WaitingInPool("gone", "spark", 0, 9, None)]) == []


@pytest.mark.parametrize(
    ("queue", "what"),
    [
        (QueueStatus("default", 0, 2, 1.0), "no_worker"),
        (QueueStatus("default", 4, 2, 301.0), "queue"),
    ],
)
def test_attempts_that_no_worker_takes(queue: QueueStatus, what: str) -> None:
    [problem] = stuck(queues=[queue], waiting=[])

    assert (problem.what, problem.name) == (what, "default")
    assert problem.sentence.startswith("2 attempts in queue default wait")


@pytest.mark.parametrize(
    ("backlog", "what", "said"),
    [
        (OpenWork(0, 0, 3, 301.0, None), "runs", "Runs of 3 DAGs are due and not created"),
        (OpenWork(0, 0, 0, None, 301.0), "callbacks", "A callback has not ended for 5 min."),
    ],
)
def test_what_is_late(backlog: OpenWork, what: str, said: str) -> None:
    [problem] = stuck(backlog=backlog)

    assert problem.what == what
    assert problem.sentence.startswith(said)


def test_a_pool_is_shown_with_what_waits_for_it_in_all_queues() -> None:
    status = replace(
        WELL,
        waiting=[
            WaitingInPool("p", "default", 12, 1, 20.0),
            WaitingInPool("p", "large", 3, 2, 45.0),
            WaitingInPool("other", "large", 7, 7, None),
        ],
        pools=[PoolStatus("p", 16, 3, 1, 2), PoolStatus("idle", 4, 0, 0, 0)],
    )
    found = report(status, PATIENCE, 1000)

    assert found.pools == [
        PoolLoad("p", 16, 3, 1, 2, 10, waiting=15, paused=3, longest=45.0),
        PoolLoad("idle", 4, 0, 0, 0, 4, waiting=0, paused=0, longest=None),
    ]
    assert (found.lag, found.queues, found.counted_to) == (status.backlog, status.queues, 1000)
    assert [(service.kind, service.alive) for service in found.services] == [
        ("scheduler", 1),
        ("parser", 1),
        ("worker", 1),
    ]


def test_files_and_schedules_that_fail() -> None:
    found = stuck(trouble=Trouble(2, "a.py", 1, "etl"))

    assert [problem.sentence for problem in found] == [
        "2 DAG files cannot be read; the first is a.py.",
        "The schedule of 1 DAG cannot be asked; the first is etl.",
    ]


def test_services_are_counted_by_kind() -> None:
    more = [process("worker", 4, silent=9.0, draining=True), process("backfill", 5)]
    found = {
        service.kind: service
        for service in services(replace(WELL, processes=[*WELL.processes, *more]))
    }

    assert list(found) == ["scheduler", "parser", "worker", "backfill"]
    worker = found["worker"]
    assert (worker.alive, worker.draining, worker.slots, worker.busy) == (2, 1, 8, 2)
    assert worker.heartbeat == 9.0
    assert found["scheduler"].slots == 0
