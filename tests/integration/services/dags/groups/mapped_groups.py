"""Mapped groups, whose instances fail, are skipped and choose, each for its own map index."""

from typing import Any

from headway.sdk import DAG, BashOperator, TaskGroup, task, task_group
from headway.sdk.exceptions import AirflowSkipException

with DAG("mapped_groups", max_active_tasks=8):

    @task
    def numbers() -> list[int]:
        return [1, 2, 3, 4]

    @task
    def factor() -> int:
        return 10

    @task
    def first(x: int, by: int) -> int:
        if x == 2:
            raise ValueError("as it should")
        if x == 3:
            raise AirflowSkipException("as it should")
        return x * by

    @task
    def second(x: int, left: int) -> str:
        return f"{x} x 10 = {left}"

    @task(trigger_rule="all_done")
    def close(x: int) -> int:
        return x

    @task.short_circuit
    def go_on(x: int) -> bool:
        return x > 1

    @task_group
    def each(x: Any, by: Any) -> Any:
        left = first(x, by)
        with TaskGroup("tell"):
            shown = BashOperator(task_id="show", bash_command=f"echo {x}: {left}")
        told = second(x, left)
        told >> close(x)
        left >> go_on(x) >> shown
        return told

    @task(trigger_rule="all_done")
    def total(found: list[str]) -> list[str]:
        return sorted(found)

    total(each.partial(by=factor()).expand(x=numbers()))


with DAG("many_in_a_group", max_active_tasks=64):

    @task
    def items() -> list[int]:
        return list(range(40))

    @task
    def one(x: int) -> int:
        return x

    @task
    def two(x: int, before: int) -> int:
        assert x == before
        return before

    @task_group
    def pair(x: Any) -> Any:
        return two(x, one(x))

    @task
    def add(found: list[int]) -> int:
        return sum(found)

    add(pair.expand(x=items()))
