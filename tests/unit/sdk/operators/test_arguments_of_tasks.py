"""Every argument that a task takes changes something: what is stored of it, or what it does.

The names are those that operators and decorators take, so that a new one without a case fails.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest

from headway import sdk
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.tolerance.decorators import TolerantDecorator
from headway.airflow_layer.tolerance.operators import tolerant
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted
from headway.domain.dag.spec import TaskSpec
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import RunState, RunType
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.mail import letter
from headway.sdk.authoring.current import DagFile
from headway.sdk.authoring.operator import accepted_names
from headway.sdk.authoring.task_options import TASK_OPTIONS
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.specification import to_spec
from headway.sdk.operators import by_date, typed_decorators, virtualenv
from headway.sdk.operators.bash import DecoratedBashOperator
from headway.sdk.operators.decorators import OperatorDecorator, TaskDecorator
from headway.sdk.operators.pyspark import PysparkOperator
from headway.sdk.operators.spark_sql import DecoratedSparkSQLOperator
from headway.sdk.programs import shell, venvs
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import (
    LocalRuntime,
    MappedXComs,
    RunName,
    SparkApplication,
    XComs,
)

Case = tuple[Mapping[str, Any], Any]
"""What else a task needs for an argument to count, and a value of the argument."""

TUESDAY = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
WORD = "word"
ASKED: list[object] = []


@dataclass
class Trace:
    """What there is to see of a task: what is stored, how it ended, and what it asked for."""

    dag_id: str
    spec: TaskSpec
    result: Result | None = None
    xcoms: XComs = field(default_factory=dict)
    mapped: MappedXComs = field(default_factory=dict)
    asked: list[object] = field(default_factory=list)


class Own(sdk.BaseOperator):
    def execute(self, context: Any) -> Any:
        return {"a": 1}


class OwnBranch(sdk.BaseBranchOperator):
    def choose_branch(self, context: Any) -> Any:
        return "below"


class MappedFunction(sdk.PythonOperator):
    """What stands for a mapped task of a decorated function in these tables."""


class Frame:
    """A session of Spark and its frames in one; it writes down what it is asked."""

    columns: tuple[str, ...] = ()

    def sql(self, text: str, args: object) -> Self:
        ASKED.append((text, args))
        return self

    def limit(self, rows: int) -> Self:
        ASKED.append(rows)
        return self

    def collect(self) -> list[Any]:
        return []


def session(conn_id: str) -> Frame:
    ASKED.append(conn_id)
    return Frame()


def driver(conn_id: str) -> Frame:
    ASKED.append(("driver", conn_id))
    return Frame()


@contextmanager
def environment(request: object, folder: object) -> Iterator[str]:
    ASKED.append((request, folder))
    yield "python"


def program(words: list[str], variables: object, cwd: object) -> tuple[int, str]:
    """Stand in for programs: write down what they get, and give a result."""
    if words[0] == "bash":
        ASKED.append((words, variables, cwd))
        return (7, "") if words[2] == exits() else (0, "1")
    told = json.loads(Path(words[2]).read_text())
    ASKED.append((words[0], told, variables, cwd))
    if told["name"] == "leaves":
        return 7, ""
    Path(words[3]).write_text('{"result": "below"}')
    return 0, ""


def calls(context: object) -> None:
    ASKED.append("called")


def chooses() -> str:
    return "below"


def chooses_more() -> list[str]:
    return ["below", "beside"]


def takes_one(one: object = None) -> Any:
    return ["below", "beside"] if one == "word" else "below"


def takes_templates(templates_dict: object = None) -> Any:
    return ["below", "beside"] if templates_dict else "below"


def leaves() -> None: ...


def is_false() -> bool:
    return False


def prints() -> str:
    return "echo $A $KEPT $PWD"


def exits() -> str:
    return "exit 7"


def selects() -> str:
    return "SELECT :a"


class OtherRuns(LocalRuntime):
    """One that creates what runs it is asked for; a run is seen running, and then as success."""

    def trigger_run(self, wanted: RunWanted) -> RunAnswer:  # type: ignore[override]
        ASKED.append(wanted)
        is_there = wanted.dag_id == "there"
        return RunAnswer(RequestAnswer.EXISTS if is_there else RequestAnswer.CREATED, "r")

    def run_state(self, of: RunName) -> RunState:  # type: ignore[override]
        has_looked = of in ASKED
        ASKED.append(of)
        return RunState.SUCCESS if has_looked else RunState.RUNNING


OF_ALL: Mapping[str, Case] = {
    "task_display_name": ({}, "The task"),
    "retries": ({}, 2),
    "retry_delay": ({}, HOUR),
    "retry_exponential_backoff": ({}, True),
    "max_retry_delay": ({}, HOUR),
    "retry_jitter": ({}, "full"),
    "retry_on": ({}, ValueError),
    "fail_fast_on": ({}, ValueError),
    "retry_policy": (
        {"map_index_template": "{{ unknown }}"},  # which fails the task
        sdk.ExceptionRetryPolicy([], sdk.RetryAction.RETRY),
    ),
    "execution_timeout": ({}, HOUR),
    "sla": ({}, HOUR),
    "notify": ({}, sdk.Notifier("ops")),
    "pool": ({}, "small"),
    "pool_slots": ({}, 2),
    "priority_weight": ({}, 7),
    "weight_rule": ({}, "absolute"),
    "max_active_tis_per_dag": ({}, 3),
    "max_active_tis_per_dagrun": ({}, 3),
    "on_lost": ({}, "fail"),
    "queue": ({}, "large"),
    "trigger_rule": ({}, "all_done"),
    "depends_on_past": ({}, True),
    "on_execute_callback": ({}, calls),
    "on_success_callback": ({}, calls),
    "on_failure_callback": ({}, calls),
    "on_retry_callback": ({}, calls),
    "on_skipped_callback": ({}, calls),
    "doc_md": ({}, "# Why"),
    "owner": ({}, "ann"),
    "params": ({}, {"rows": 3}),
    "email": ({}, "ann@example.com"),
    "email_on_failure": ({"email": "ann@example.com"}, False),
    "email_on_retry": ({"email": "ann@example.com"}, False),
    "do_xcom_push": ({}, False),
    "multiple_outputs": ({}, True),
    "task_id": ({}, "other_id"),
    "map_index_template": ({}, "{{ ds }}"),
    "start_date": ({}, TUESDAY),
    "end_date": ({}, TUESDAY),
}
"""What every task takes, besides the two that need a DAG of the test's own."""

OF_SUBMIT: Mapping[str, Case] = {
    "status_poll_interval": ({}, 3),
    "conf": ({}, {"a": "b"}),
    "env_vars": ({}, {"a": "b"}),
    "deploy_mode": ({}, "cluster"),
    "verbose": ({}, True),
    "application_args": ({}, ["x"]),
    **dict.fromkeys(("num_executors", "executor_cores", "driver_cores"), ({}, 3)),
    "total_executor_cores": ({}, 3),
}
_OTHERS_OF_SUBMIT = SparkApplication.__dataclass_fields__.keys() - OF_SUBMIT.keys()

OWN: Mapping[type, Mapping[str, Case]] = {
    sdk.PythonOperator: {
        "python_callable": ({}, chooses_more),
        "op_args": ({"python_callable": takes_one}, [WORD]),
        "op_kwargs": ({"python_callable": takes_one}, {"one": WORD}),
        "templates_dict": ({"python_callable": takes_templates}, {"a": "{{ ds }}"}),
        "templates_exts": ({"python_callable": takes_one, "op_args": ["word.txt"]}, [".txt"]),
    },
    PysparkOperator: {"conn_id": ({}, "lake"), "mode": ({}, "driver")},
    sdk.ShortCircuitOperator: {
        "python_callable": ({}, is_false),
        "ignore_downstream_trigger_rules": ({"python_callable": is_false}, False),
    },
    virtualenv.OtherPythonOperator: {
        "string_args": ({}, ["x"]),
        "env_vars": ({}, {"A": "b"}),
        "inherit_env": ({}, False),
        "expect_airflow": ({}, True),
        "skip_on_exit_code": ({"python_callable": leaves}, 7),
    },
    sdk.PythonVirtualenvOperator: {
        "requirements": ({}, ["humanize"]),
        "python_version": ({}, "3.12"),
        "system_site_packages": ({}, False),
        "pip_install_options": ({}, ["--pre"]),
        "index_urls": ({}, ["https://example.com"]),
        "venv_cache_path": ({}, "/kept"),
    },
    sdk.ExternalPythonOperator: {"python": ({}, "python3")},
    sdk.BashOperator: {
        "bash_command": ({}, "echo other"),
        "env": ({}, {"A": "a"}),
        "append_env": ({"env": {"B": "b"}}, True),
        "cwd": ({}, "/"),
        "skip_on_exit_code": ({"bash_command": "exit 7"}, 7),
        "output_processor": ({}, len),
    },
    DecoratedBashOperator: {"skip_on_exit_code": ({"python_callable": exits}, 7)},
    sdk.SparkSQLOperator: {
        "sql": ({}, "SELECT 2"),
        "parameters": ({}, {"a": 1}),
        "fetch_rows": ({}, 5),
        "do_xcom_push": ({"fetch_rows": 5}, False),
        "multiple_outputs": ({"fetch_rows": 5}, True),
        "conn_id": ({}, "lake"),
    },
    sdk.SparkSubmitOperator: {**dict.fromkeys(_OTHERS_OF_SUBMIT, ({}, "other")), **OF_SUBMIT},
    by_date.DateBranch: {
        "follow_task_ids_if_true": ({}, "beside"),
        "use_task_logical_date": ({}, False),
    },
    sdk.TriggerDagRunOperator: {
        "trigger_dag_id": ({}, "other"),
        "trigger_run_id": ({}, "mine"),
        "conf": ({}, {"a": 1}),
        "logical_date": ({}, TUESDAY),
        "reset_dag_run": ({}, True),
        "wait_for_completion": ({}, True),
        "poke_interval": ({"wait_for_completion": True}, 7),
        "allowed_states": ({"wait_for_completion": True}, ["running"]),
        "failed_states": ({"wait_for_completion": True}, ["running"]),
        "skip_when_already_exists": ({"trigger_dag_id": "there"}, True),
        "fail_when_dag_is_paused": ({}, True),
        "note": ({}, "late data"),
        "deferrable": ({}, True),
    },
    sdk.EmailOperator: {
        "to": ({}, "b@example.com"),
        "subject": ({}, "other"),
        "html_content": ({}, "other"),
        "files": ({}, ["word"]),
        "cc": ({}, "b@example.com"),
        "bcc": ({}, ["b@example.com"]),
        "mime_subtype": ({}, "alternative"),
        "mime_charset": ({}, "ascii"),
        "conn_id": ({}, "post"),
        "from_email": ({}, "b@example.com"),
        "custom_headers": ({}, {"X-Of": "1"}),
    },
    sdk.BranchDayOfWeekOperator: {
        "week_day": ({}, "Monday"),
        "follow_task_ids_if_false": ({"week_day": "Monday"}, "below"),
    },
    sdk.BranchDateTimeOperator: {
        "target_lower": ({}, TUESDAY + HOUR),
        "target_upper": ({}, TUESDAY - HOUR),
        "follow_task_ids_if_false": ({"target_upper": TUESDAY - HOUR}, "below"),
    },
}

_DATES = {
    "follow_task_ids_if_true": "below",
    "follow_task_ids_if_false": "beside",
    "use_task_logical_date": True,
}
NEEDED: Mapping[type, Mapping[str, Any]] = {
    sdk.BaseOperator: {},
    sdk.PythonOperator: {"python_callable": chooses},
    sdk.ExternalPythonOperator: {"python_callable": chooses, "python": "python"},
    MappedFunction: {"python_callable": takes_one},
    sdk.BashOperator: {"bash_command": prints()},
    DecoratedBashOperator: {"python_callable": prints},
    sdk.SparkSQLOperator: {"sql": selects()},
    DecoratedSparkSQLOperator: {"python_callable": selects},
    sdk.SparkSubmitOperator: {"application": "job.py"},
    sdk.TriggerDagRunOperator: {"trigger_dag_id": "d2"},
    sdk.EmailOperator: {"to": "a@example.com", "subject": "s", "html_content": "h"},
    sdk.BranchDayOfWeekOperator: {"week_day": "Tuesday", **_DATES},
    sdk.BranchDateTimeOperator: {
        "target_lower": TUESDAY - HOUR,
        "target_upper": TUESDAY + HOUR,
        **_DATES,
    },
}
"""What an operator cannot be made without."""

LEAVES_NOTHING = {
    *(sdk.EmailOperator, sdk.EmptyOperator, sdk.SparkSubmitOperator, sdk.TriggerDagRunOperator)
}
"""Operators that return nothing, so that it does not count how that is stored."""

OF_DECORATORS: Mapping[str, type] = {
    "bash": typed_decorators.BashTaskOptions,
    "branch": typed_decorators.PythonTaskOptions,
    "branch_external_python": typed_decorators.ExternalPythonTaskOptions,
    "branch_virtualenv": typed_decorators.VirtualenvTaskOptions,
    "external_python": typed_decorators.ExternalPythonTaskOptions,
    "pyspark": typed_decorators.PysparkTaskOptions,
    "python": typed_decorators.PythonTaskOptions,
    "short_circuit": typed_decorators.ShortCircuitTaskOptions,
    "sql": typed_decorators.SparkSQLTaskOptions,
    "virtualenv": typed_decorators.VirtualenvTaskOptions,
}
"""What each decorator takes, as type checkers know it."""

OPERATORS: Mapping[str, Any] = {
    name: {sdk.BaseOperator: Own, sdk.BaseBranchOperator: OwnBranch}.get(found, found)
    for name in sdk.__all__
    if isinstance(found := getattr(sdk, name), type) and issubclass(found, sdk.BaseOperator)
}


@dataclass(frozen=True)
class Maker:
    """An operator or a decorator, of the SDK or of the layer, and what makes a task of it."""

    label: str
    operator: type
    make: Callable[..., Any]
    names: frozenset[str]


def decorated(decorator: Any) -> Callable[..., Any]:
    def make(
        *, python_callable: Any, op_args: Any = (), op_kwargs: Any = None, **options: Any
    ) -> Any:
        return decorator(**options)(python_callable)(*op_args, **(op_kwargs or {}))

    return make


def makers() -> Iterator[Maker]:
    for name, operator in OPERATORS.items():
        for label, made in ((name, operator), (f"{name} of the layer", tolerant(operator))):
            yield Maker(label, operator, made, accepted_names(operator))
    for name, options in OF_DECORATORS.items():
        decorator = getattr(TaskDecorator, name)
        names = frozenset(options.__annotations__)
        yield Maker(f"@task.{name}", decorator.operator, decorated(decorator), names)
        of_layer = decorated(TolerantDecorator(decorator))
        yield Maker(f"@task.{name} of the layer", decorator.operator, of_layer, names)


def mapped_bash(*, bash_command: str, **options: Any) -> Any:
    return sdk.BashOperator.partial(**options).expand(bash_command=[bash_command])


def mapped_function(*, python_callable: Any, **options: Any) -> Any:
    return sdk.task(**options)(python_callable).expand(one=["word"])


def mapped() -> Iterator[Maker]:
    names = TASK_OPTIONS | {"task_id"}
    yield Maker("BashOperator, mapped", sdk.BashOperator, mapped_bash, names)
    yield Maker("@task, mapped", MappedFunction, mapped_function, names)


MAKERS = {maker.label: maker for maker in (*makers(), *mapped())}


def case(operator: type, name: str) -> Case:
    """Return the case of an argument; KeyError if it has none."""
    if name == "dag":
        return {}, sdk.DAG("another")
    if name == "task_group":
        with sdk.DAG("d"):
            return {}, sdk.TaskGroup("g")
    for kind in operator.__mro__:
        if name in OWN.get(kind, {}):
            return OWN[kind][name]
    return OF_ALL[name]


def trace(maker: Maker, given: Mapping[str, Any], folder: Path) -> Trace:
    """Make a task with two below it, and return what is stored of it."""
    needed = next(NEEDED[kind] for kind in maker.operator.__mro__ if kind in NEEDED)
    with sdk.DAG("d", start_date=TUESDAY) as dag:
        dag.file = DagFile("d", folder / "d.py", folder)
        task = maker.make(**{"task_id": "t", **needed, **given}).as_operator()
    with task.dag:
        task >> sdk.EmptyOperator(task_id="below") >> sdk.EmptyOperator(task_id="further")
        task >> sdk.EmptyOperator(task_id="beside")
    stored = to_spec(task.dag, "d.py").task(task.task_id)
    found = Trace(task.dag.dag_id, replace(stored, arguments={}))
    ASKED.clear()
    index = 0 if task.is_mapped else -1
    local = OtherRuns(
        task.task_id,
        found.xcoms,
        open_spark=session,
        open_driver=driver,
        submit=ASKED.append,
        virtualenvs=folder,
        mapped=found.mapped,
        map_index=index,
    )
    facts = RunFacts(
        dag_id="d",
        run_id="r",
        task_id=task.task_id,
        data_interval=DataInterval(TUESDAY, TUESDAY + HOUR),
        run_type=RunType.SCHEDULED,
        conf={},
        try_number=1,
        map_index=index,
    )
    found.result = execute(task, facts, local)
    found.asked = list(ASKED)
    return found


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venvs, "virtual_environment", environment)
    monkeypatch.setattr(venvs, "usable", lambda folder: folder)
    monkeypatch.setattr(shell, "run_program", program)
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(SystemClock, "now", lambda _: TUESDAY + timedelta(days=1))
    monkeypatch.setattr(SystemClock, "wait", lambda _, stop, seconds: ASKED.append(seconds))
    monkeypatch.setattr(sdk.BaseHook, "get_connection", lambda conn_id: conn_id)
    monkeypatch.setattr(letter, "send", lambda *mail: ASKED.append(mail))
    monkeypatch.setenv("KEPT", "kept")


@pytest.mark.parametrize("label", MAKERS)
def test_every_argument_of_a_task_changes_something(label: str, tmp_path: Path) -> None:
    maker = MAKERS[label]
    (tmp_path / "word.txt").write_text(WORD)
    as_it_is = trace(maker, {}, tmp_path)
    ignored = []
    for name in sorted(maker.names):
        if maker.operator in LEAVES_NOTHING and name in ("do_xcom_push", "multiple_outputs"):
            continue
        besides, value = case(maker.operator, name)
        without = trace(maker, besides, tmp_path) if besides else as_it_is
        try:
            with_it: object = trace(maker, {**besides, name: value}, tmp_path)
        except (DagError, AirflowGapError) as error:
            with_it = str(error)
        if with_it == without:
            ignored.append(name)

    assert not ignored, ignored


@pytest.mark.parametrize("name", OF_DECORATORS)
def test_a_decorator_takes_what_type_checkers_know(name: str) -> None:
    given_by_the_call = {"python_callable", "op_args", "op_kwargs"}
    operator = getattr(TaskDecorator, name).operator

    assert accepted_names(operator) - given_by_the_call == {*OF_DECORATORS[name].__annotations__}


def test_every_decorator_and_every_operator_is_tried() -> None:
    decorators = {
        name for name, found in vars(TaskDecorator).items() if isinstance(found, OperatorDecorator)
    }
    assert decorators == OF_DECORATORS.keys()
    assert len(OPERATORS) >= 17
    assert OF_ALL.keys() | {"dag", "task_group"} == TASK_OPTIONS | {"task_id"}


@pytest.mark.parametrize(
    ("decorator", "given", "said"),
    [
        (sdk.task.bash, {"bash_command": "true"}, "does not know the argument 'bash_command'"),
        (sdk.task.sql, {"sql": "SELECT 1"}, "does not know the argument 'sql'"),
        (sdk.task, {"op_kwargs": {"one": 1}}, "the call of the function gives its arguments"),
    ],
)
def test_a_decorator_refuses_what_the_function_or_its_call_gives(
    decorator: Any, given: dict[str, Any], said: str
) -> None:
    with sdk.DAG("d"), pytest.raises(DagError, match=rf"^DAG 'd', task 'takes_one'.*{said}"):
        decorator(**given)(takes_one)()


def test_an_argument_without_a_case_is_found() -> None:
    with pytest.raises(KeyError):
        case(sdk.BashOperator, "new_argument")
