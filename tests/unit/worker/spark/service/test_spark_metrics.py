"""What attempts took of Spark, as the worker counts it."""

from headway.domain.spark_work import SparkFigures
from headway.metrics.worker import SPARK_BYTES, SPARK_EXECUTOR_SECONDS, SPARK_TASKS
from headway.testing.metrics.metrics import total, value
from headway_worker.spark.service import figures_writer


def test_the_figures_of_an_attempt_are_added_up() -> None:
    kinds = ("read", "written", "shuffle_read", "shuffle_written", "spilled")
    before = [value(SPARK_BYTES, kind) or 0.0 for kind in kinds]
    tasks, seconds = total(SPARK_TASKS), total(SPARK_EXECUTOR_SECONDS)
    figures = SparkFigures(
        tasks=3,
        executor_run_ms=2500,
        bytes_read=1,
        bytes_written=2,
        shuffle_read_bytes=4,
        shuffle_write_bytes=8,
        spilled_bytes=16,
    )

    figures_writer.count(figures)
    figures_writer.count(None)

    after = [value(SPARK_BYTES, kind) or 0.0 for kind in kinds]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 2, 4, 8, 16]
    assert total(SPARK_TASKS) == tasks + 3
    assert total(SPARK_EXECUTOR_SECONDS) == seconds + 2.5
