"""Tasks that keep state for their retries; what others keep they cannot read."""

import asyncio
from datetime import timedelta
from typing import Any

import pendulum

from headway.sdk import DAG, NEVER_EXPIRE, get_current_context, task

with DAG("keeping", start_date=pendulum.datetime(2013, 1, 1), tags=["on demand"]):

    @task(retries=2, retry_delay=timedelta(0))
    def resume(task_state_store: Any, try_number: int) -> list[Any]:
        found = task_state_store.get("job", "nothing")
        if try_number == 1:
            task_state_store.set("job", {"id": 7}, retention=NEVER_EXPIRE)
            task_state_store.set("short", 1, retention=timedelta(microseconds=1))
            task_state_store.set("gone", 1)
            task_state_store.delete("gone")
            raise RuntimeError("lost")
        return [found, try_number, task_state_store.get("short"), task_state_store.get("gone")]

    @task(retries=1, retry_delay=timedelta(0))
    async def fetch(task_state_store: Any, try_number: int) -> list[int]:
        done = await task_state_store.aget("done", default=[])
        await asyncio.gather(*(task_state_store.aset(f"page {n}", n) for n in range(3)))
        await task_state_store.aset("done", [*done, try_number])
        if try_number == 1:
            raise RuntimeError("lost")
        return list(await task_state_store.aget("done"))

    @task(retries=1, retry_delay=timedelta(0))
    def each(n: int, task_state_store: Any, try_number: int) -> list[Any]:
        found = task_state_store.get("n")
        task_state_store.set("n", n)
        if try_number == 1:
            raise RuntimeError("lost")
        return [n, found]

    @task
    def other(job: object) -> Any:
        return get_current_context()["task_state_store"].get("job")

    @task
    def collect(found: list[Any]) -> list[Any]:
        return list(found)

    other(resume())
    fetch()
    collect(each.expand(n=[10, 20]))
