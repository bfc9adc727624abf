from headway.decide.explain.ready import WaitingTask
from headway.decide.explain.simulate import Changes, QueueOrder, simulate
from headway.decide.explain.snapshot import ProcessRow
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask


def waiting(*slots: int, pool: str = "p", dag_id: str = "d", queue: str = "q") -> list[WaitingTask]:
    return [
        WaitingTask(ReadyTask(number, dag_id, 7, f"t{number}", pool, each, queue, number), "r", -1)
        for number, each in enumerate(slots, start=1)
    ]


def scheduler(slots: int, busy: int = 0) -> ProcessRow:
    return ProcessRow(
        id=1, kind="scheduler", hostname="h", pid=1, slots=slots, busy=busy, silent=0.0, alive=True
    )


def order(those: list[WaitingTask], *schedulers: ProcessRow, **limits: int) -> QueueOrder:
    budgets = {
        Budget(Limit.POOL, ("p",)): limits.get("pool", 100),
        Budget(Limit.DAG, ("d",)): limits.get("dag", 100),
        Budget(Limit.QUEUE, ("q",)): limits.get("queue", 100),
    }
    return QueueOrder(those, budgets, {}, schedulers or [scheduler(100)])


def test_more_slots_admit_more() -> None:
    found = simulate(order(waiting(1, 1, 1, 1), pool=1), Changes(pools={"p": 3}))

    assert (found.now.task_ids, found.then.task_ids) == ([1], [1, 2, 3])
    assert [each.task.id for each in found.gained()] == [2, 3]
    assert found.lost() == []
    assert found.refusals() == {Budget(Limit.POOL, ("p",)): (3, 1)}


def test_what_is_taken_stays_taken() -> None:
    before = order(waiting(1, 1), pool=3)
    full = QueueOrder(
        before.waiting, before.limits, {Budget(Limit.POOL, ("p",)): 3}, before.schedulers
    )

    assert simulate(full, Changes(pools={"p": 4})).then.task_ids == [1]
    assert simulate(full, Changes(pools={"p": 1})).then.task_ids == []


def test_a_larger_pool_may_push_small_ones_back() -> None:
    """A big task that fits at last takes the slot of a small one behind it."""
    found = simulate(order(waiting(3, 1, 1), pool=2), Changes(pools={"p": 3}))

    assert [each.task.id for each in found.gained()] == [1]
    assert [each.task.id for each in found.lost()] == [2, 3]


def test_the_next_limit_shows_when_one_is_raised() -> None:
    found = simulate(order(waiting(1, 1, 1), pool=1, dag=2), Changes(pools={"p": 9}))

    assert found.then.task_ids == [1, 2]
    assert found.refusals() == {
        Budget(Limit.POOL, ("p",)): (2, 0),
        Budget(Limit.DAG, ("d",)): (0, 1),
    }


def test_max_active_tasks() -> None:
    assert simulate(order(waiting(1, 1, 1), dag=1), Changes(dags={"d": 2})).then.task_ids == [1, 2]


def test_a_queue_gets_more_than_the_slots_of_its_workers() -> None:
    assert simulate(order(waiting(1, 1, 1, 1)), Changes(queues={"q": 1})).then.task_ids == [1, 2, 3]


def test_a_queue_and_a_pool_that_are_not_there_yet() -> None:
    those = waiting(1, pool="new", queue="big")
    changes = Changes(pools={"new": 1}, queues={"big": 1})

    assert simulate(order(those), Changes()).now.refused == {1: Budget(Limit.POOL, ("new",))}
    assert simulate(order(those), changes).then.task_ids == [1]


def test_parallelism_is_that_of_each_scheduler() -> None:
    both = scheduler(2, busy=1), scheduler(2, busy=3)
    found = simulate(order(waiting(1, 1, 1, 1), *both), Changes(parallelism=4))

    assert (found.now.task_ids, found.then.task_ids) == ([1], [1, 2, 3, 4])


def test_without_changes_nothing_changes() -> None:
    found = simulate(order(waiting(1, 2, 3), pool=3), Changes())

    assert found.now == found.then
    assert (found.gained(), found.lost()) == ([], [])


def test_a_run_is_called_by_its_name() -> None:
    found = simulate(order(waiting(1)), Changes())

    assert found.owner(Budget(Limit.RUN, (7,))) == "d r"
    assert found.owner(Budget(Limit.TASK_IN_RUN, (7, "t1"))) == "d r t1"
    assert found.owner(Budget(Limit.TASK, ("d", "t1"))) == "d t1"
    assert found.owner(Budget(Limit.SCHEDULER, ())) == ""
