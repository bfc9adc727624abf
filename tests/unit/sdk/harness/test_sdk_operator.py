"""The arguments of every task, default_args, and subclasses of BaseOperator."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.errors import DagError
from headway.domain.states import OnLost
from headway.sdk import DAG, BaseOperator, BashOperator, Context, EmptyOperator, PythonOperator
from headway.sdk.harness.specification import to_spec


class Download(BaseOperator):
    """What a user writes."""

    template_fields: ClassVar[tuple[str, ...]] = ("url",)

    def __init__(self, *, url: Any, attempts: Any = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url = url
        self.attempts = attempts

    def execute(self, context: Context) -> Any:
        return self.url


def test_every_option_reaches_the_specification(dag: DAG) -> None:
    task = EmptyOperator(
        task_id="land",
        retries=3,
        retry_delay=timedelta(minutes=2),
        retry_exponential_backoff=True,
        max_retry_delay=600,
        execution_timeout=timedelta(hours=1),
        pool="spark",
        pool_slots=2,
        priority_weight=7,
        weight_rule="absolute",
        max_active_tis_per_dag=3,
        max_active_tis_per_dagrun=2,
        on_lost="fail",
        queue="big",
        trigger_rule="none_failed",
        depends_on_past=True,
        doc_md="Lands.",
    )

    spec = task.spec
    assert (spec.retries, spec.retry_delay, spec.retry_exponential_backoff) == (3, 120.0, True)
    assert (spec.max_retry_delay, spec.execution_timeout) == (600.0, 3600.0)
    assert (spec.pool, spec.pool_slots, spec.priority_weight) == ("spark", 2, 7)
    assert spec.weight_rule is WeightRule.ABSOLUTE
    assert (spec.max_active_tis_per_dag, spec.max_active_tis_per_dagrun) == (3, 2)
    assert spec.on_lost is OnLost.FAIL
    assert (spec.queue, spec.trigger_rule) == ("big", TriggerRule.NONE_FAILED)
    assert (spec.depends_on_past, spec.doc_md) == (True, "Lands.")


@pytest.mark.parametrize("rule", list(TriggerRule))
def test_every_trigger_rule_is_taken_by_name_and_as_member(dag: DAG, rule: TriggerRule) -> None:
    by_name = EmptyOperator(task_id="a", trigger_rule=str(rule))
    by_member = EmptyOperator(task_id="b", trigger_rule=rule)

    assert by_name.spec.trigger_rule is by_member.spec.trigger_rule is rule


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries must be a whole number from 0 to 2147483647, not -1"),
        ({"retries": 2**31}, "retries must be a whole number"),
        ({"retries": None}, "retries must be a whole number"),
        ({"retries": 1.5}, "retries must be a whole number"),
        ({"retry_delay": -1}, "retry_delay must be a timedelta or a number of seconds"),
        ({"retry_delay": float("nan")}, "retry_delay must be a timedelta"),
        ({"retry_delay": "5m"}, "retry_delay must be a timedelta"),
        ({"retry_exponential_backoff": 2}, "retry_exponential_backoff must be True or False"),
        ({"max_retry_delay": 0}, "max_retry_delay must be longer than 0"),
        ({"execution_timeout": timedelta(0)}, "execution_timeout must be longer than 0"),
        ({"pool": ""}, "pool: A pool id must have 1 to 250 characters"),
        ({"pool_slots": 0}, "pool_slots must be a whole number from 1"),
        ({"priority_weight": -1}, "priority_weight must be a whole number from 0"),
        ({"weight_rule": "heavy"}, "weight_rule must be one of downstream, upstream, absolute"),
        ({"max_active_tis_per_dag": 0}, "max_active_tis_per_dag must be a whole number from 1"),
        ({"max_active_tis_per_dagrun": 1.5}, "max_active_tis_per_dagrun must be a whole number"),
        ({"on_lost": "wait"}, "on_lost must be one of retry, fail, not 'wait'"),
        ({"queue": 3}, "queue: A queue id must be a string"),
        ({"trigger_rule": "all_sucess"}, "trigger_rule must be one of all_success, all_failed, "),
        ({"depends_on_past": 1}, "depends_on_past must be True or False"),
        ({"doc_md": b"x"}, "doc_md must be a string"),
        ({"do_xcom_push": None}, "do_xcom_push must be True or False"),
        ({"multiple_outputs": 1}, "multiple_outputs must be True or False"),
        ({"retrys": 1}, "EmptyOperator does not know the argument 'retrys'; did you mean retr"),
        ({"zzz": 1}, "argument 'zzz'; known: dag, depends_on_past, "),
    ],
)
def test_a_wrong_option_is_refused_by_name(dag: DAG, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DagError, match=f"^DAG 'flights', task 'land'.*{message}"):
        EmptyOperator(task_id="land", **options)


def test_limits_may_be_none_and_a_weight_nothing(dag: DAG) -> None:
    task = EmptyOperator(
        task_id="a",
        priority_weight=0,
        weight_rule=WeightRule.UPSTREAM,
        max_active_tis_per_dag=None,
        max_active_tis_per_dagrun=None,
        on_lost=OnLost.RETRY,
    )

    assert (task.spec.priority_weight, task.spec.weight_rule) == (0, "upstream")
    assert task.spec.max_active_tis_per_dag is task.spec.max_active_tis_per_dagrun is None
    assert task.spec.on_lost == "retry"


def test_a_missing_argument_is_named(dag: DAG) -> None:
    with pytest.raises(DagError, match=r"task 'run': BashOperator: missing .* 'bash_command'"):
        BashOperator(task_id="run")  # type: ignore[call-arg]
    with pytest.raises(DagError, match=r"a task without task_id: .* 'task_id'"):
        EmptyOperator()  # type: ignore[call-arg]
    with pytest.raises(DagError, match="keyword arguments only"):
        EmptyOperator("land")


def test_an_invalid_id_is_refused(dag: DAG) -> None:
    with pytest.raises(DagError, match="DAG 'flights', task 'a b': The task id 'a b' may hold"):
        EmptyOperator(task_id="a b")


def test_a_second_task_of_the_same_id_is_refused(dag: DAG) -> None:
    EmptyOperator(task_id="land")

    with pytest.raises(DagError, match="DAG 'flights' has two tasks with the id 'land'"):
        EmptyOperator(task_id="land")


def test_default_args_give_way_to_the_tasks_own() -> None:
    defaults = {"retries": 2, "queue": "big", "attempts": 5, "env": {"A": "1"}}
    with DAG("flights", default_args=defaults) as dag:
        plain = EmptyOperator(task_id="plain")
        own = Download(task_id="own", url="x", retries=0)
        bash = BashOperator(task_id="bash", bash_command="true")

    assert (plain.spec.retries, plain.spec.queue) == (2, "big")
    assert (own.spec.retries, own.attempts) == (0, 5)
    assert bash.env == {"A": "1"}
    assert [task.queue for task in to_spec(dag, "x.py").tasks] == ["big"] * 3


def test_a_default_arg_that_no_task_takes_is_refused() -> None:
    with DAG("flights", default_args={"retires": 2}) as dag:
        EmptyOperator(task_id="a")

    with pytest.raises(DagError, match=r"default_args .* 'retires'; did you mean retries"):
        to_spec(dag, "x.py")


def test_a_subclass_is_described_by_its_class_and_its_arguments(dag: DAG) -> None:
    Download(task_id="own", url="http://x/{{ ds }}", retries=1)

    (spec,) = to_spec(dag, "x.py").tasks
    assert spec.operator.endswith(".Download")
    assert (spec.arguments, spec.retries) == ({"url": "http://x/{{ ds }}"}, 1)


def test_only_template_fields_take_outputs(dag: DAG) -> None:
    path = BashOperator(task_id="land", bash_command="echo 3").output
    Download(task_id="own", url=path, attempts=path)

    with pytest.raises(DagError, match=r"task 'own': attempts is the output .* these are: url"):
        to_spec(dag, "x.py")


def test_a_subclass_must_set_its_template_fields_and_call_its_base(dag: DAG) -> None:
    class NoField(BaseOperator):
        template_fields = ("missing",)

    class NoBase(BaseOperator):
        def __init__(self, **kwargs: Any) -> None:
            pass

    with pytest.raises(DagError, match="template_fields names 'missing', but NoField sets no"):
        NoField(task_id="a")
    with pytest.raises(DagError, match=r"NoBase must call super\(\).__init__"):
        NoBase(task_id="b")


def test_a_subclass_that_invents_options_is_refused(dag: DAG) -> None:
    class Invents(BaseOperator):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**{**kwargs, "retriess": 1})

    with pytest.raises(DagError, match="'retriess'; did you mean retries"):
        Invents(task_id="a")


def test_a_callable_is_stored_by_its_name_and_must_be_one(dag: DAG) -> None:
    PythonOperator(task_id="a", python_callable=len, op_args=[[1]])

    assert to_spec(dag, "x.py").tasks[0].arguments == {"python_callable": "len", "op_args": [[1]]}
    with pytest.raises(DagError, match="python_callable must be a function, not 'len'"):
        PythonOperator(task_id="b", python_callable="len")  # type: ignore[arg-type]


def test_a_task_may_name_its_dag() -> None:
    dag = DAG("flights")
    task = EmptyOperator(task_id="a", dag=dag)

    assert (task.dag, repr(task), repr(dag)) == (dag, "<Task(EmptyOperator): a>", "<DAG: flights>")
