"""DAGs under chaos: short and long tasks, mapped, retried, on Spark, with callbacks.

`place.py` is written when chaos begins: where records go, when schedules start and end, how long a
lease is, and which queues have workers without and with Spark.
"""

from datetime import timedelta
from functools import partial
from typing import Any

import pendulum
from place import END, LEASE, QUEUE, SPARK_QUEUE, START
from recorder import Name, name, recorded, work, write

from headway.sdk import DAG, task

scheduled = partial(
    DAG,
    start_date=pendulum.from_timestamp(START, tz="UTC"),
    end_date=pendulum.from_timestamp(END, tz="UTC"),
    catchup=True,
    default_args={"retries": 50, "retry_delay": timedelta(seconds=0.5), "queue": QUEUE},
)


def called(context: Any) -> None:
    """Record that the event of an attempt was heard of."""
    write("callback", name(context))


with scheduled("short", schedule=timedelta(seconds=4)):

    @task
    def spread(**context: Any) -> list[int]:
        with recorded(name(context)):
            return list(range(8))

    @task
    def each(number: int, **context: Any) -> int:
        with recorded(name(context)):
            return number * number

    @task
    def gather(squares: list[int], **context: Any) -> int:
        with recorded(name(context)):
            assert sorted(squares) == [number * number for number in range(8)], squares
            return sum(squares)

    gather(each.expand(number=spread()))

with scheduled("retried", schedule=timedelta(seconds=10)):

    @task
    def fails_first(**context: Any) -> str:
        with recorded(name(context)):
            if context["ti"].try_number == 1:
                raise RuntimeError("the first attempt fails")
            return str(context["run_id"])

    @task(on_success_callback=called)
    def follows(value: str, **context: Any) -> None:
        with recorded(name(context)):
            assert value == str(context["run_id"])

    follows(fails_first())

with scheduled("long", schedule=timedelta(seconds=20)):

    @task(on_success_callback=called)
    def outlasts_a_lease(**context: Any) -> None:
        with recorded(name(context)):
            work(name(context), 2.5 * LEASE)

    outlasts_a_lease()

with scheduled(
    "skips",
    schedule=timedelta(seconds=3),
    overlap="skip",
    max_active_runs=1,
):

    @task
    def takes_a_while(**context: Any) -> None:
        with recorded(name(context)):
            work(name(context), 4)

    takes_a_while()


def beat_from_spark(of: Name, seconds: float) -> Any:
    """Return a function for `foreachPartition` that records while it runs on an executor."""

    def partition(_rows: Any) -> None:
        work(of, seconds)

    return partition


with scheduled("spark", schedule=timedelta(seconds=30)):

    @task.pyspark(queue=SPARK_QUEUE)
    def quick(spark: Any, **context: Any) -> None:
        with recorded(name(context)):
            spark.range(0, 2, 1, 1).foreachPartition(beat_from_spark(name(context), 1))

    @task.pyspark(queue=SPARK_QUEUE)
    def slow(spark: Any, **context: Any) -> None:
        with recorded(name(context)):
            spark.range(0, 2, 1, 1).foreachPartition(beat_from_spark(name(context), 2 * LEASE))

    quick() >> slow()

with scheduled("driver", schedule=timedelta(seconds=90)):

    @task.pyspark(mode="driver", queue=SPARK_QUEUE)
    def own_driver(spark: Any, **context: Any) -> None:
        with recorded(name(context)):
            spark.range(0, 2, 1, 1).foreachPartition(beat_from_spark(name(context), 2 * LEASE))

    own_driver()
