"""SparkSubmitOperator: what reaches spark-submit, and where its files are found."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, BashOperator, SparkSubmitOperator
from headway.sdk import task as decorated
from headway.sdk.exceptions import AirflowException
from headway.sdk.harness.execution import Result, end_application
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import SparkApplication

Run = Callable[..., Result]


def test_there_is_an_application() -> None:
    with pytest.raises(DagError, match=r"'submit': there is no application; pass application="):
        SparkSubmitOperator(task_id="submit", conf={"a": "b"})


def test_a_subclass_that_does_something_else_needs_no_application(dag: DAG, run: Run) -> None:
    loaded: list[str] = []

    class Load(SparkSubmitOperator):
        def execute(self, context: object) -> None:
            loaded.append(self.task_id)

    with pytest.raises(DagError, match="deploy_mode must be"):
        Load(task_id="submit", application="job.py", deploy_mode="moon")
    assert run(Load(task_id="load")).outcome is Outcome.SUCCESS
    assert loaded == ["load"]


def test_every_argument_reaches_the_application(dag: DAG, run: Run) -> None:
    task = SparkSubmitOperator(
        task_id="submit",
        application="local:///opt/app.jar",
        application_args=["--day", "{{ ds }}", 3],
        conf={"spark.ui.enabled": False, "spark.x": 2},
        py_files="a.py, b.zip",
        jars=["c.jar"],
        packages="org:pack:1",
        exclude_packages="org:bad",
        repositories=["https://repo.example"],
        files=["d.txt"],
        archives="env.tar.gz#env",
        name="flights {{ ds }}",
        java_class="org.example.Main",
        driver_class_path="/opt/*",
        num_executors=2,
        executor_cores="{{ params.limit }}",
        executor_memory="2g",
        total_executor_cores=8,
        driver_cores=2,
        driver_memory="1g",
        yarn_queue="night",
        env_vars={"DAY": "{{ ds }}"},
        principal="me",
        keytab="me.keytab",
        deploy_mode="cluster",
        verbose=True,
        status_poll_interval=timedelta(minutes=1),
        conn_id="yarn",
    )
    submitted: list[SparkApplication] = []

    result = run(task, submit=submitted.append)

    assert (result.outcome, result.error) == (Outcome.SUCCESS, None)
    assert submitted == [
        SparkApplication(
            application="local:///opt/app.jar",
            application_args=("--day", "2013-01-01", "3"),
            conf={"spark.ui.enabled": "false", "spark.x": "2"},
            py_files=("a.py", "b.zip"),
            jars=("c.jar",),
            packages=("org:pack:1",),
            exclude_packages=("org:bad",),
            repositories=("https://repo.example",),
            files=("d.txt",),
            archives=("env.tar.gz#env",),
            name="flights 2013-01-01",
            java_class="org.example.Main",
            driver_class_path="/opt/*",
            num_executors=2,
            executor_cores=3,
            executor_memory="2g",
            total_executor_cores=8,
            driver_cores=2,
            driver_memory="1g",
            yarn_queue="night",
            env_vars={"DAY": "2013-01-01"},
            principal="me",
            keytab="me.keytab",
            deploy_mode="cluster",
            verbose=True,
            status_poll_interval=60.0,
            conn_id="yarn",
        )
    ]


def test_to_end_an_application_nothing_is_rendered_but_what_names_it_and_no_user_code_runs(
    dag: DAG, run: Run
) -> None:
    class Careful(SparkSubmitOperator):
        def execute(self, context: Any) -> None:
            raise AssertionError("it runs")

    def callback(_context: object) -> None:
        raise AssertionError("it is called")

    submitted: list[SparkApplication] = []
    task = Careful(
        task_id="submit", application="{{ ds }}.py", conn_id="far", on_execute_callback=callback
    )

    assert run(task, submit=submitted.append, do=end_application).outcome is Outcome.SUCCESS
    assert [(application.application, application.conn_id) for application in submitted] == [
        ("2013-01-01.py", "far")
    ]


def test_a_task_that_submits_nothing_in_this_version_says_so_instead_of_running(
    dag: DAG, run: Run
) -> None:
    @decorated
    def work() -> None:
        raise AssertionError("it runs")

    result = run(work(), do=end_application)
    assert result.outcome is Outcome.FAILED
    assert "the task 'work' is none of spark-submit" in (result.error or "")


def test_the_name_is_left_to_the_worker_unless_given(dag: DAG) -> None:
    task = SparkSubmitOperator(task_id="submit", application="app.py")

    assert task.spark_application() == SparkApplication(application="app.py")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"application": 3}, "application must be a string"),
        ({"application_args": "--day"}, "application_args must be a list"),
        ({"conf": ["spark.x=1"]}, "conf must be a dictionary"),
        ({"py_files": 3}, "py_files must be a list of strings, or text with commas"),
        ({"num_executors": 0}, "num_executors must be a whole number from 1"),
        ({"executor_cores": "two"}, "executor_cores must be a whole number from 1"),
        ({"deploy_mode": "local"}, "deploy_mode must be 'client' or 'cluster', not 'local'"),
    ],
)
def test_wrong_arguments_are_refused(dag: DAG, options: dict[str, Any], message: str) -> None:
    given = {"application": "app.py", **options}

    with pytest.raises(DagError, match=f"^DAG 'flights', task 'submit': {message}"):
        SparkSubmitOperator(task_id="submit", **given)


def test_templated_arguments_are_checked_when_they_are_rendered(dag: DAG, run: Run) -> None:
    task = SparkSubmitOperator(
        task_id="submit", application="app.py", num_executors="{{ params.carrier }}"
    )

    assert "num_executors must be a whole number from 1" in str(run(task).error)


def test_an_output_may_be_an_argument(dag: DAG) -> None:
    path = BashOperator(task_id="land", bash_command="echo app.py").output
    SparkSubmitOperator(task_id="submit", application=path)

    assert to_spec(dag, "x.py").task("submit").upstream == ("land",)


def test_a_failed_application_fails_the_task(dag: DAG, run: Run) -> None:
    def submit(application: SparkApplication) -> None:
        raise AirflowException(f"{application.application} failed")

    task = SparkSubmitOperator(task_id="submit", application="app.py")

    assert run(task, submit=submit).error == "app.py failed"
    assert run(task).error == "There is no spark-submit here to run app.py."


def test_files_beside_the_dag_file_are_recorded_and_found(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    (folder / "jobs").mkdir(parents=True)
    for name in ("jobs/app.py", "lib.py"):
        (folder / name).write_text("")
    (tmp_path / "shared.py").write_text("")
    (folder / "dag_file.py").write_text(
        "from headway.sdk import DAG, SparkSubmitOperator\n"
        "with DAG('flights'):\n"
        "    SparkSubmitOperator(task_id='submit', application='jobs/app.py',\n"
        "        py_files=['lib.py', '../shared.py', 'absent.py'], files='/etc/hosts')\n"
    )

    (dag,) = load_dag_file(folder / "dag_file.py", tmp_path)

    assert to_spec(dag, "team/dag_file.py").files == (
        "shared.py",
        "team/jobs/app.py",
        "team/lib.py",
    )
    task = dag.get_task("submit")
    assert isinstance(task, SparkSubmitOperator)
    application = task.spark_application()
    assert application.application == str(folder / "jobs/app.py")
    assert application.py_files == (
        str(folder / "lib.py"),
        str(tmp_path / "shared.py"),
        "absent.py",
    )
    assert application.files == ("/etc/hosts",)
