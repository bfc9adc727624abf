"""`headway dags test` expands mapped tasks in its own process."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent, indent

import pytest

from headway.cli.local.dag_test import run_dag

NOW = datetime(2024, 1, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def run(folder: Path, tasks: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Run a DAG of these tasks; return the exit status, and what was said in between."""
    text = "from headway.sdk import *\n\nwith DAG('trial'):\n" + indent(dedent(tasks), "    ")
    (folder / "trial.py").write_text(text)
    status = run_dag(folder / "trial.py", "trial", None, {}, NOW)
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first.startswith("trial: data interval")
    assert last.startswith("trial: success in" if status == 0 else "trial: failed in")
    return status, [line for line in lines if not line.endswith("running")]


def test_mapped_tasks_run_one_instance_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(
        tmp_path,
        """
        @task
        def plan():
            return [1, 2, 3]
        @task
        def double(x):
            return 2 * x
        @task
        def pair(x, y):
            return [x, y]
        @task
        def show(found):
            print(found)
        show(pair.expand(x=double.expand(x=plan()), y=["a"]))
        """,
        capsys,
    )

    assert status == 0
    assert lines == [
        "[plan] success",
        *(f"[double[{index}]] success" for index in range(3)),
        *(f"[pair[{index}]] success" for index in range(3)),
        "[[2, 'a'], [4, 'a'], [6, 'a']]",
        "[show] success",
    ]


def test_only_instances_that_succeed_have_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(
        tmp_path,
        """
        @task(trigger_rule="all_done")
        def work(x, ti):
            ti.xcom_push("tried", x)
            if x == 2:
                raise ValueError("two")
            return x
        @task(trigger_rule="all_done")
        def show(found, tried):
            print(found, tried)
        mapped = work.expand(x=[1, 2, 3])
        show(mapped, mapped["tried"])
        work.expand(x=mapped["tried"])
        """,
        capsys,
    )

    assert status == 0
    assert "[1, 3] [1, 3]" in lines
    assert "[work[1]] failed: ValueError: two" in lines
    assert [line for line in lines if line.startswith("[work__1")] == [
        "[work__1[0]] success",
        "[work__1[1]] success",
    ]


def test_a_task_mapped_over_nothing_is_nothing_to_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(
        tmp_path,
        """
        @task(trigger_rule="none_failed")
        def work(x):
            return x
        work.expand(x=work.expand(x=[]))
        """,
        capsys,
    )

    assert (status, lines) == (0, ["[work] skipped", "[work__1] skipped"])


def test_over_nothing_and_over_a_skipped_task_there_is_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(
        tmp_path,
        """
        from headway.sdk.exceptions import AirflowSkipException
        @task
        def skips():
            raise AirflowSkipException("no flights")
        @task(trigger_rule="none_failed")
        def work(x):
            return x
        @task(trigger_rule="none_failed")
        def show(found):
            print(found)
        nothing = work.expand(x=[])
        show(nothing)
        work.expand(x=skips())
        """,
        capsys,
    )

    assert status == 0
    assert sorted(lines) == [
        "[]",
        "[show] success",
        "[skips] skipped: no flights",
        "[work] skipped",
        "[work__1] skipped",
    ]


def test_a_task_that_leaves_no_items_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(
        tmp_path,
        """
        @task
        def plan():
            return 3
        @task
        def work(x): ...
        work.expand(x=plan())
        """,
        capsys,
    )

    assert status == 1
    assert any("'plan' returned 3, but task 'work' is expanded over it" in line for line in lines)
    assert lines[-1] == "[work] upstream_failed"
