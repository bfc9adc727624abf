"""Small parts of Airflow that DAG files use."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pendulum
import pytest

from headway import sdk
from headway.airflow_layer import notes
from headway.airflow_layer.counterparts import (
    calls,
    configuration,
    stand_ins,
    states,
    times,
    timetables,
    values,
)
from headway.airflow_layer.counterparts.exceptions import AirflowConfigException
from headway.airflow_layer.counterparts.notifiers import BaseNotifier
from headway.domain.errors import TimetableError
from headway.domain.states import RunState, RunType
from headway.sdk.authoring.current import DagFile, collect
from headway.sdk.context.task_instance import DagRun
from headway.sdk.exceptions import AirflowException
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.task_runtime import LocalRuntime


def test_days_ago_is_a_midnight_and_says_what_to_write() -> None:
    found = times.days_ago(2, hour=3)

    assert (found.hour, found.minute, found.second, found.microsecond) == (3, 0, 0, 0)
    assert timedelta(days=1) < datetime.now(UTC) - found < timedelta(days=3)
    assert "Write a fixed date" in notes.notes()[0]


def test_dates_have_zones() -> None:
    assert times.datetime(2024, 1, 2) == datetime(2024, 1, 2, tzinfo=UTC)
    assert times.parse("2024-01-02 03:00") == datetime(2024, 1, 2, 3, tzinfo=UTC)
    naive = datetime(2024, 1, 2)  # noqa: DTZ001
    assert times.make_aware(naive) == times.convert_to_utc(naive) == times.datetime(2024, 1, 2)
    assert times.make_naive(times.datetime(2024, 1, 2)) == naive
    assert times.is_localized(times.utcnow())
    assert times.is_naive(naive)
    new_york = pendulum.timezone("America/New_York")
    coerced = times.coerce_datetime(times.datetime(2024, 1, 2), new_york)
    assert coerced is not None
    assert coerced.hour == 19
    assert times.from_timestamp(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert times.td_format(timedelta(hours=1, seconds=5)) == "1h:5s"


def test_the_configuration_has_a_few_options() -> None:
    conf = configuration.conf
    with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"))):
        assert conf.get("core", "dags_folder") == "/dags"
        assert configuration.DAGS_FOLDER == "/dags"
    dag = sdk.DAG("d")
    dag.file = DagFile("m", Path("/dags/a.py"), Path("/dags"))
    with running_in(Context({"dag": dag}, LocalRuntime("t", {}))):
        assert conf.get("core", "dags_folder") == "/dags"
    assert conf.getboolean("core", "unit_test_mode") is False
    assert conf.getint("core", "nonsense", fallback=3) == 3
    assert conf.get("smtp", "host", fallback=None) is None
    assert conf.getlist("x", "y", fallback="a, b") == ["a", "b"]
    assert conf.getjson("x", "y", fallback='{"a": 1}') == {"a": 1}
    assert conf.getimport("x", "y", fallback="os.path.join").__name__ == "join"
    assert conf.getimport("x", "y") is conf.getlist("x", "y", fallback=None) is None
    assert conf.get_mandatory_value("core", "executor") == "Headway"
    assert not conf.has_option("smtp", "host")
    with pytest.raises(AirflowConfigException, match=r"no option \[smtp\] host"):
        conf.get("smtp", "host")
    with pytest.raises(AirflowConfigException, match="cannot set"):
        conf.set("core", "parallelism", 3)


def test_states_are_texts() -> None:
    assert states.State.SUCCESS == "success"
    assert states.State.FAILED in states.State.finished
    assert states.State.NONE in states.State.unfinished
    assert str(states.DagRunState.RUNNING) == "running"


def test_helpers() -> None:
    assert values.prune_dict({"a": None, "b": [None, 0], "c": {"d": None}}) == {"b": [0], "c": {}}
    assert values.prune_dict({"a": 0, "b": 1}, "truthy") == {"b": 1}
    assert values.exactly_one(1, 0, None)
    assert not values.exactly_one(1, 1)
    assert values.at_most_one(None, 0)
    merged = values.merge_dicts({"a": {"b": 1}, "c": 1}, {"a": {"d": 2}, "c": 2})
    assert merged == {"a": {"b": 1, "d": 2}, "c": 2}
    assert list(values.chunks([1, 2, 3], 2)) == [[1, 2], [3]]
    assert calls.import_string("os.path.join").__name__ == "join"
    assert calls.determine_kwargs(lambda ds: ds, (), {"ds": 1, "ti": 2}) == {"ds": 1}
    assert calls.apply_defaults(print) is print
    assert values.convert_camel_to_snake("someName") == "some_name"
    assert values.as_flattened_list(["a", ("b", {"c"}), [[1]]]) == ["a", "b", "c", 1]
    values.validate_key("a.b-c_1")
    for key in ("a b", "", "a" * 251):
        with pytest.raises(AirflowException, match="The key"):
            values.validate_key(key)
    with pytest.raises(TypeError, match="has to be a string"):
        values.validate_key(1)  # type: ignore[arg-type]
    assert [values.to_boolean(text) for text in ("Yes", "0", None)] == [True, False, False]
    assert values.md5(b"a").hexdigest() == "0cc175b9c0f1b6a831c399e269772661"
    assert calls.qualname(Path("/")) in ("pathlib.PosixPath", "pathlib._local.PosixPath")
    assert "headway.sdk.values.checks" in calls.iter_namespace(import_module("headway.sdk.values"))


def test_the_variables_of_a_context() -> None:
    run = SimpleNamespace(dag_id="d", run_id="r", logical_date=datetime(2024, 1, 1, tzinfo=UTC))
    context = {"dag_run": run, "ti": SimpleNamespace(task_id="t", try_number=2)}

    found = calls.context_to_airflow_vars(context, in_env_var_format=True)

    assert found["AIRFLOW_CTX_DAG_ID"] == "d"
    assert found["AIRFLOW_CTX_TRY_NUMBER"] == "2"
    assert calls.context_to_airflow_vars(context)["airflow.ctx.task_id"] == "t"


def test_days_of_the_week() -> None:
    assert int(sdk.WeekDay.MONDAY) == 1
    assert sdk.WeekDay.validate_week_day({"Saturday", sdk.WeekDay.SUNDAY}) == {6, 7}


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (
            timetables.CronTriggerTimetable("0 5 * * *", timezone="UTC"),
            sdk.CronTimetable("0 5 * * *", "UTC"),
        ),
        (
            timetables.CronTriggerTimetable("@daily", timezone=pendulum.timezone("Europe/Berlin")),
            sdk.CronTimetable("@daily", "Europe/Berlin"),
        ),
        (
            timetables.MultipleCronTriggerTimetable("@daily", "0 5 * * *"),
            sdk.MultipleCronTimetable(["@daily", "0 5 * * *"], "UTC"),
        ),
        (
            timetables.CronDataIntervalTimetable("@daily", "UTC"),
            sdk.DataTimetable("@daily", None, "UTC"),
        ),
        (
            timetables.DeltaDataIntervalTimetable(timedelta(hours=1)),
            sdk.TimeDeltaTimetable(timedelta(hours=1)),
        ),
        (
            timetables.EventsTimetable([date(2024, 1, 1)], description="x"),
            sdk.EventsTimetable([date(2024, 1, 1)]),
        ),
    ],
)
def test_timetables_are_those_of_headway(made: object, wanted: object) -> None:
    assert made == wanted


def test_an_interval_before_the_tick_is_refused() -> None:
    with pytest.raises(TimetableError, match="leave interval out"):
        timetables.CronTriggerTimetable("@daily", timezone="UTC", interval=timedelta(days=1))


def test_models_are_for_annotations() -> None:
    night = datetime(2024, 1, 1, tzinfo=UTC)
    run = DagRun(
        dag_id="d",
        run_id="r",
        run_type=RunType.MANUAL,
        conf={},
        logical_date=night,
        data_interval_start=night,
        data_interval_end=night,
        run_after=night,
        queued_at=None,
        start_date=None,
        end_date=None,
        state=RunState.RUNNING,
    )

    assert isinstance(run, stand_ins.DagRun)
    assert not isinstance(run, stand_ins.TaskInstance)
    with pytest.raises(AirflowException, match=r"airflow\.models\.DagRun\.find: .* no access"):
        getattr(stand_ins.DagRun, "find")(dag_id="d")  # noqa: B009 - mypy knows of no such method
    with pytest.raises(AirflowException, match="no access to the database"):
        stand_ins.TaskInstance()


def test_a_notifier_renders_its_templates_and_is_a_callback() -> None:
    told: list[str] = []

    class Tell(BaseNotifier):
        template_fields = ("text",)

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

        def notify(self, context: Context) -> None:
            told.append(self.text)

    Tell("{{ ds }} and {{ run_id }}")(
        Context({"ds": "2024-01-01", "run_id": "r"}, LocalRuntime("t", {}))
    )

    assert told == ["2024-01-01 and r"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: timetables.CronTriggerTimetable("@daily", run_immediately=False), "run_immed"),
        (
            lambda: timetables.MultipleCronTriggerTimetable("@daily", run_immediately=True),
            "run_imm",
        ),
        (lambda: timetables.EventsTimetable([date(2024, 1, 1)], True), "restrict_to_events"),
        (lambda: timetables.EventsTimetable([date(2024, 1, 1)], description="x"), "description"),
    ],
)
def test_what_a_timetable_leaves_out_is_said(make: Callable[[], object], said: str) -> None:
    with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"))):
        make()
        [note] = notes.notes()

    assert said in note
    assert "no effect" in note
