"""DAG files that are wrong: each gets its one message, and hurts nobody else."""

from collections.abc import Iterator
from textwrap import dedent

import pytest

from headway.testing.services.stack import Stack, running_stack

pytestmark = pytest.mark.services

PARSER_TIMEOUT = 4

CANARY = """
    from headway.sdk import DAG, EmptyOperator

    with DAG("canary"):
        EmptyOperator(task_id="sing")
"""

BAD = {
    "cycle": (
        """
        from headway.sdk import DAG, EmptyOperator, chain

        with DAG("cycle"):
            a, b, c = (EmptyOperator(task_id=name) for name in "abc")
            chain(a, b, c, a)
        """,
        "DAG 'cycle' has a cycle: a -> b -> c -> a. Remove one of these.",
    ),
    "duplicate_task": (
        """
        from headway.sdk import DAG, EmptyOperator

        with DAG("duplicate_task"):
            EmptyOperator(task_id="twin")
            EmptyOperator(task_id="twin")
        """,
        "DAG 'duplicate_task' has two tasks with the id 'twin'; rename one.",
    ),
    "duplicate_dag": (
        """
        from headway.sdk import DAG

        DAG("duplicate_dag")
        DAG("duplicate_dag")
        """,
        "duplicate_dag.py makes 2 DAGs with the id 'duplicate_dag'; rename.",
    ),
    "unknown_rule": (
        """
        from headway.sdk import DAG, EmptyOperator

        with DAG("unknown_rule"):
            EmptyOperator(task_id="a", trigger_rule="all_sucess")
        """,
        (
            "DAG 'unknown_rule', task 'a': trigger_rule must be one of all_success, all_failed, "
            "all_done, all_done_min_one_success, all_done_setup_success, all_skipped, one_success, "
            "one_failed, one_done, none_failed, none_failed_min_one_success, none_skipped, always, "
            "not 'all_sucess'."
        ),
    ),
    "odd_zone": (
        """
        from datetime import datetime, timedelta, timezone
        from headway.sdk import DAG

        half = timezone(timedelta(hours=5, minutes=30))
        DAG("odd_zone", start_date=datetime(2013, 1, 1, tzinfo=half))
        """,
        (
            "DAG 'odd_zone': the time zone of start_date must be a named zone such as "
            "America/New_York, or whole hours from UTC; 5:30:00 has no name."
        ),
    ),
    "no_date": (
        """
        from headway.sdk import DAG

        DAG("no_date", start_date="2013-01-01")
        """,
        (
            "DAG 'no_date': start_date must be a datetime with a time zone (write "
            "pendulum.datetime(2013, 1, 1, tz=\"America/New_York\")), not '2013-01-01'."
        ),
    ),
    "no_cron": (
        """
        from headway.sdk import DAG

        DAG("no_cron", schedule="every day")
        """,
        (
            "DAG 'no_cron': 'every day' is no cron string: it has 2 fields and needs five: minute, "
            "hour, day, month, weekday, for example '30 6 * * MON-FRI'."
        ),
    ),
    "no_argument": (
        """
        from headway.sdk import DAG, EmptyOperator

        with DAG("no_argument"):
            EmptyOperator(task_id="a", retrys=3)
        """,
        (
            "DAG 'no_argument', task 'a': EmptyOperator does not know the argument 'retrys'; did "
            "you mean retries or retry_on?"
        ),
    ),
    "unserializable": (
        """
        from headway.sdk import DAG, PythonOperator

        with DAG("unserializable"):
            PythonOperator(task_id="a", python_callable=print, op_args=[{"file": open(__file__)}])
        """,
        (
            "DAG 'unserializable', task 'a': op_args[0]['file'] is of type TextIOWrapper, which "
            "cannot be stored with the DAG. Pass JSON values, dates, times, timedeltas, paths, "
            "decimals, UUIDs or another task's output, and build anything else inside the task."
        ),
    ),
    "exits": (
        """
        import sys
        from headway.sdk import DAG

        sys.exit(3)
        """,
        "exits.py calls sys.exit(3) while it is imported; a DAG file must only define DAGs.",
    ),
    "leaves": (
        """
        import os
        from headway.sdk import DAG

        os._exit(0)
        """,
        "Reading the file ended its process (exit code 0); it must not do that.",
    ),
    "loops": (
        """
        from headway.sdk import DAG

        while True:
            pass
        """,
        (
            f"Reading the file took more than {PARSER_TIMEOUT} s, and was stopped. Move slow work "
            "into tasks, or raise HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT."
        ),
    ),
}
"""What each file holds, and the import error that it must get."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("dags")
    (folder / "canary.py").write_text(dedent(CANARY))
    settings = {"HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT": str(PARSER_TIMEOUT)}
    with running_stack(tmp_path_factory.mktemp("bad_files"), folder, settings) as stack:
        for name, (source, _) in BAD.items():
            write(stack, f"{name}.py", source)
        yield stack


def write(stack: Stack, path: str, source: str) -> None:
    (stack.dags / path).write_text(dedent(source))


def dag(dag_id: str, *task_ids: str) -> str:
    """The source of a DAG with empty tasks."""
    tasks = [f"    EmptyOperator(task_id={task_id!r})\n" for task_id in task_ids or ("only",)]
    return f"from headway.sdk import DAG, EmptyOperator\nwith DAG({dag_id!r}):\n{''.join(tasks)}"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_has_one_clear_error(stack: Stack, name: str) -> None:
    assert stack.wait_for_import_error(f"{name}.py") == BAD[name][1]


def test_a_crash_shows_where_it_was(stack: Stack) -> None:
    write(stack, "crashes.py", "import ctypes\n# headway, DAG\nctypes.string_at(0)\n")

    said, printed = stack.wait_for_import_error("crashes.py").split("\nIt printed:\n")
    assert said == (
        "Reading the file ended its process (signal 11, Segmentation fault); it must not do that."
    )
    assert f'File "{stack.dags}/crashes.py", line 3 in <module>' in printed


def test_an_error_of_python_s_own_shows_where_it_is(stack: Stack) -> None:
    write(stack, "syntax.py", "from headway.sdk import DAG\nwith DAG('x')\n    pass\n")
    write(stack, "undefined.py", "from headway.sdk import DAG\nDAG(no_such_name)\n")

    syntax = stack.wait_for_import_error("syntax.py")
    assert syntax.splitlines() == [
        f"SyntaxError: expected ':' (File \"{stack.dags}/syntax.py\", line 2)",
        f'File "{stack.dags}/syntax.py", line 2',
        "    with DAG('x')",
        "                 ^",
        "SyntaxError: expected ':'",
    ]
    undefined = stack.wait_for_import_error("undefined.py")
    assert undefined.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{stack.dags}/undefined.py", line 2, in <module>',
        "    DAG(no_such_name)",
        "        ^^^^^^^^^^^^",
        "NameError: name 'no_such_name' is not defined",
    ]


def test_a_file_that_is_no_text_has_an_error(stack: Stack) -> None:
    (stack.dags / "latin.py").write_bytes(b"from headway.sdk import DAG\nDAG('caf\xe9')\n")

    last_line = stack.wait_for_import_error("latin.py").splitlines()[-1]
    assert last_line.startswith("SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xe9")


def test_a_file_without_dags_is_fine(stack: Stack) -> None:
    write(stack, "library.py", "# used by headway DAGs\nLIMIT = 3\n")

    stack.wait_for_parse("library.py")
    stack.wait_for_no_import_error("library.py")


def test_bad_files_hurt_no_other_dag(stack: Stack) -> None:
    for name in BAD:
        stack.wait_for_import_error(f"{name}.py")

    assert stack.run("canary").state == "success"
    (stack.dags / "late_canary.py").write_text(dag("late_canary"))
    stack.wait_for_version("late_canary")
    assert stack.run("late_canary").state == "success"


def test_the_first_file_keeps_a_dag_id(stack: Stack) -> None:
    (stack.dags / "owner.py").write_text(dag("shared_id", "of_owner"))
    stack.wait_for_version("shared_id")
    (stack.dags / "intruder.py").write_text(dag("shared_id", "of_intruder") + dag("its_own"))

    assert stack.wait_for_import_error("intruder.py") == (
        "The DAG id 'shared_id' in intruder.py is taken by the file owner.py (bundle dags), "
        "which keeps it. Rename one of the two."
    )
    stack.wait_for_version("its_own")
    assert stack.run("shared_id").states() == {"of_owner": "success"}


def test_a_deleted_bad_file_takes_its_error_along(stack: Stack) -> None:
    stack.wait_for_import_error("cycle.py")

    (stack.dags / "cycle.py").unlink()

    stack.wait_for_no_import_error("cycle.py")
