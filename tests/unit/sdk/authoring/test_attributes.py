"""What tasks and DAGs tell of themselves, and what an assignment changes."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.notifiers import NotifierSpec, NotifyEvent
from headway.domain.dag.spec import Jitter
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.errors import DagError
from headway.domain.states import OnLost
from headway.sdk import DAG, BaseOperator, EmptyOperator, Notifier
from headway.sdk.authoring.attributes import CallbackAttribute, OptionAttribute, TaskAttributes
from headway.sdk.authoring.callbacks import OF_TASK, ON_EXECUTE
from headway.sdk.authoring.mapped import MappedOperator
from headway.sdk.authoring.task_options import STORED
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import LocalRuntime

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
OPTIONS: dict[str, tuple[Any, Any]] = {
    "retries": (3, 3),
    "retry_delay": (timedelta(minutes=1), timedelta(minutes=1)),
    "retry_exponential_backoff": (True, True),
    "max_retry_delay": (60, timedelta(minutes=1)),
    "retry_jitter": ("full", Jitter.FULL),
    "retry_on": (KeyError, ("builtins.KeyError",)),
    "fail_fast_on": (KeyError, ("builtins.KeyError",)),
    "execution_timeout": (timedelta(hours=1), timedelta(hours=1)),
    "pool": ("small", "small"),
    "pool_slots": (2, 2),
    "priority_weight": (7, 7),
    "weight_rule": ("absolute", WeightRule.ABSOLUTE),
    "max_active_tis_per_dag": (4, 4),
    "max_active_tis_per_dagrun": (5, 5),
    "on_lost": ("fail", OnLost.FAIL),
    "queue": ("other", "other"),
    "trigger_rule": ("all_done", TriggerRule.ALL_DONE),
    "depends_on_past": (True, True),
    "start_date": (FIRST, FIRST),
    "end_date": (FIRST, FIRST),
    "map_index_template": ("{{ ds }}", "{{ ds }}"),
    "task_display_name": ("Land the files", "Land the files"),
    "doc_md": ("# Why", "# Why"),
    "owner": ("ann", "ann"),
}


def test_every_option_of_a_task_is_an_attribute() -> None:
    attributes = {
        name
        for name, value in vars(TaskAttributes).items()
        if isinstance(value, OptionAttribute | CallbackAttribute)
    }
    assert attributes == {*STORED, *OF_TASK, ON_EXECUTE, "params"}
    assert OPTIONS.keys() == STORED.keys() - {"sla", "notify"}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_assignment_says_the_same_as_an_argument(name: str) -> None:
    given, read = OPTIONS[name]
    told, changed = EmptyOperator(task_id="x", **{name: given}), EmptyOperator(task_id="x")
    assert getattr(changed, name) != read
    setattr(changed, name, given)
    assert changed.spec == told.spec
    assert getattr(changed, name) == getattr(told, name) == read


def test_a_specification_is_made_when_it_is_asked_for() -> None:
    with DAG("flights") as dag:
        first, second = EmptyOperator(task_id="land"), EmptyOperator(task_id="check")
        first >> second
    assert not [task for task in dag.tasks if "_spec" in vars(task)]

    assert first.spec is first.spec
    first.retries = 3
    assert first.spec.retries == 3
    assert "_spec" not in vars(second)


class Eager(BaseOperator):
    """An operator that gives itself an option."""

    def __init__(self, *, number: int = 0, **options: Any) -> None:
        options.setdefault("retries", 5)
        super().__init__(**options)
        self.number = number


def test_an_instance_is_specified_as_its_mapped_task() -> None:
    with DAG("flights"):
        mapped = Eager.partial(task_id="land").expand(number=[1, 2]).as_operator()
    assert isinstance(mapped, MappedOperator)
    instance, _ = mapped.instance(LocalRuntime("land"), 0)

    assert instance.spec == mapped.spec
    assert instance.retries == 0


def test_what_is_assigned_is_checked() -> None:
    with DAG("flights"):
        task = EmptyOperator(task_id="land")
    with pytest.raises(DagError, match=r"DAG 'flights', task 'land': retries must be a whole"):
        task.retries = -1


def test_an_assignment_before_the_base_is_called_does_not_win() -> None:
    class Slow(BaseOperator):
        def __init__(self, **options: Any) -> None:
            self.queue = "slow"
            assert self.queue == "slow"
            super().__init__(**options)

    assert Slow(task_id="x", queue="fast").queue == "fast"
    assert Slow(task_id="x").spec.queue == "default"


def test_callbacks_can_be_assigned() -> None:
    task = EmptyOperator(task_id="x", on_success_callback=print)
    task.on_failure_callback = [print, repr]
    task.on_success_callback = None
    task.on_execute_callback = [print]
    assert task.spec.callbacks == (CallbackEvent.FAILURE,)
    assert task.on_failure_callback == [print, repr]
    assert list(task.on_execute_callback) == [print]
    assert not task.on_success_callback
    with pytest.raises(DagError, match="on_retry_callback must be a function"):
        task.on_retry_callback = "print"


def test_a_task_knows_its_place() -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with DAG("flights", start_date=start) as dag:
        one, two = EmptyOperator(task_id="one"), EmptyOperator(task_id="two", owner="ann")
        one >> two
    assert (one.dag_id, one.task_type, one.start_date) == ("flights", "EmptyOperator", start)
    assert (one.downstream_list, two.upstream_list, one.upstream_list) == ([two], [one], [])
    assert two.get_direct_relatives(upstream=True) == [one]
    assert (dag.roots, dag.leaves, dag.task_ids, dag.owner) == ([one], [two], ["one", "two"], "ann")
    assert EmptyOperator(task_id="x").log.name == "headway.sdk.operators.empty.EmptyOperator"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("catchup", True),
        ("description", "why"),
        ("dag_display_name", "Flights"),
        ("doc_md", "# Why"),
        ("max_active_runs", 2),
        ("max_active_tasks", 2),
        ("dagrun_timeout", timedelta(hours=1)),
        ("tags", ["a", "b"]),
        ("schedule", "@daily"),
        ("start_date", datetime(2024, 1, 1, tzinfo=UTC)),
        ("is_paused_upon_creation", True),
        ("on_failure_callback", print),
        ("user_defined_macros", {"a": 1}),
        ("render_template_as_native_obj", True),
    ],
)
def test_an_assignment_to_a_dag_says_the_same_as_an_argument(name: str, given: Any) -> None:
    told, changed = DAG("flights", **{name: given}), DAG("flights")
    setattr(changed, name, given)
    assert to_spec(changed, "x.py") == to_spec(told, "x.py")
    assert getattr(changed, name) == getattr(told, name)
    assert changed.calls_on == told.calls_on


def test_what_a_dag_cannot_change_is_said() -> None:
    with pytest.raises(DagError, match="timezone cannot be changed any more"):
        DAG("flights").timezone = "UTC"  # type: ignore[misc]
    with pytest.raises(DagError, match="max_active_runs must be"):
        DAG("flights").max_active_runs = 0


@pytest.mark.parametrize(
    ("options", "on"),
    [
        ({}, (NotifyEvent.FAILURE, NotifyEvent.RETRY)),
        ({"email_on_retry": False}, (NotifyEvent.FAILURE,)),
        ({"email_on_failure": False}, (NotifyEvent.RETRY,)),
    ],
)
def test_addresses_are_told_by_mail(options: dict[str, Any], on: tuple[NotifyEvent, ...]) -> None:
    for email in ("a@x.org, b@x.org", ["b@x.org", "a@x.org"]):
        task = EmptyOperator(task_id="x", email=email, **options)
        told = NotifierSpec(connection="smtp_default", on=on, to=("a@x.org", "b@x.org"))
        assert task.spec.notifiers == (told,)


def test_nobody_is_told_by_mail_without_an_address_or_an_event() -> None:
    chat = Notifier("chat")
    both = EmptyOperator(task_id="x", notify=chat, email="a@x.org")
    assert [it.connection for it in both.spec.notifiers] == ["chat", "smtp_default"]
    silent: dict[str, Any] = {"email_on_failure": False, "email_on_retry": False}
    assert EmptyOperator(task_id="x", email="a@x.org", **silent).spec.notifiers == ()
    assert EmptyOperator(task_id="x", email_on_failure=True, email=None).spec.notifiers == ()
    with pytest.raises(DagError, match="email_on_retry must be True or False"):
        EmptyOperator(task_id="x", email_on_retry="yes")  # type: ignore[arg-type]


def test_a_date_without_a_zone_is_in_utc() -> None:
    spec = DAG("flights", start_date=datetime(2024, 1, 1)).spec  # noqa: DTZ001
    assert (spec.start_date, spec.timezone) == (datetime(2024, 1, 1, tzinfo=UTC), "UTC")


@pytest.mark.parametrize(
    ("offset", "name"), [(2, "Etc/GMT-2"), (-5, "Etc/GMT+5"), (0, "UTC"), (14, "Etc/GMT-14")]
)
def test_whole_hours_from_utc_have_a_name(offset: int, name: str) -> None:
    start = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=offset)))
    spec = DAG("flights", start_date=start).spec
    assert (spec.timezone, spec.start_date) == (name, start)


def test_half_hours_from_utc_have_none() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    with pytest.raises(DagError, match="5:30:00 has no name"):
        DAG("flights", start_date=datetime(2024, 1, 1, tzinfo=zone))


def test_dates_of_default_args_are_the_dags_where_they_are_closer() -> None:
    early, late = (datetime(2024, month, 1, tzinfo=UTC) for month in (1, 6))
    of_tasks = {"start_date": early, "end_date": late}
    assert DAG("flights", default_args=of_tasks).spec.start_date == early
    assert DAG("flights", default_args=of_tasks, start_date=late).spec.start_date == late
    assert (
        DAG("flights", default_args={"start_date": late}, start_date=early).spec.start_date == late
    )
    assert DAG("flights", default_args=of_tasks, end_date=early).spec.end_date == early
    with DAG("flights", default_args={**of_tasks, "retries": 2}) as dag:
        assert EmptyOperator(task_id="x").retries == 2
    to_spec(dag, "x.py")
    with pytest.raises(DagError, match="start_date in default_args must be a datetime"):
        DAG("flights", default_args={"start_date": "2024-01-01"})


def test_a_task_may_have_dates_of_its_own() -> None:
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)
    with DAG("flights", start_date=early, end_date=late):
        task = EmptyOperator(task_id="x", start_date=datetime(2024, 1, 5))  # noqa: DTZ001
        plain = EmptyOperator(task_id="y")

    assert task.spec.start_date == task.start_date == datetime(2024, 1, 5, tzinfo=UTC)
    assert (task.spec.end_date, task.end_date) == (None, late)
    assert (plain.spec.start_date, plain.start_date) == (None, early)
    task.end_date = early
    assert task.spec.end_date == early


def test_dates_of_a_task_must_be_in_order() -> None:
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)
    with pytest.raises(DagError, match=r"Task 'x'.*end_date .* is before start_date"):
        EmptyOperator(task_id="x", start_date=late, end_date=early)


REFUSED: dict[str, tuple[Any, str]] = {
    "run_as_user": ("ann", "queue whose workers run as"),
    "wait_for_downstream": (True, "depends_on_past=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write_instead(name: str) -> None:
    value, message = REFUSED[name]
    given: dict[str, Any] = {"task_id": "x", name: value}
    with pytest.raises(DagError, match=message):
        EmptyOperator(**given)
    with pytest.raises(DagError, match=message):
        EmptyOperator.partial(**given)


@pytest.mark.parametrize("name", ["fail_fast", "max_consecutive_failed_dag_runs"])
def test_what_is_refused_of_a_dag_says_what_to_write_instead(name: str) -> None:
    given: dict[str, Any] = {name: True}
    with pytest.raises(DagError, match=f"there is no {name}"):
        DAG("flights", **given)
