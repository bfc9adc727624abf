import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar

import msgpack
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.deadline import DeadlineMoment, DeadlineSpec
from headway.domain.dag.notifiers import NotifierSpec, NotifyEvent
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.dag.spec import Combined, DagSpec, Jitter, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.errors import SerializationError
from headway.domain.states import OnLost
from headway.serialization import codec
from headway.serialization.codec import (
    FORMAT_VERSION,
    LARGEST,
    LATER,
    LATER_OF_INPUTS,
    LATER_OF_TASKS,
    READABLE,
)
from headway.serialization.definitions import define

T = TypeVar("T")

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), JSON, max_size=3)
NAMES = st.text("abc_.-", min_size=1, max_size=8)
SECONDS = st.floats(0, 1e6)
DATES = st.none() | st.datetimes(timezones=st.just(UTC))
SPANS = st.none() | st.timedeltas(timedelta(0), timedelta(days=3650))
TEXTS = st.none() | st.text(max_size=20)
COUNTS = st.integers(0, 10**6)


def some(items: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, max_size=3).map(tuple)


DEADLINES = some(
    st.builds(
        DeadlineSpec,
        reference=st.sampled_from(DeadlineMoment),
        seconds=SECONDS,
        at=DATES,
        backfills=st.booleans(),
    )
)
NOTIFIERS = some(
    st.builds(
        NotifierSpec,
        connection=NAMES,
        on=some(st.sampled_from(NotifyEvent)),
        subject=TEXTS,
        body=TEXTS,
        to=some(NAMES),
    )
)
PARAM_SCHEMAS = some(st.builds(ParamSchema, name=NAMES, schema=ARGUMENTS, description=TEXTS))
EVENTS = some(st.sampled_from(CallbackEvent))
LIMITS = st.none() | COUNTS
INPUTS = st.recursive(
    st.builds(
        MapInput, argument=NAMES, length=LIMITS, task_id=st.none() | NAMES, key=st.text(max_size=8)
    ),
    lambda parts: st.builds(
        MapInput, argument=NAMES, combined=st.sampled_from(Combined), parts=some(parts)
    ),
    max_leaves=3,
)
TASKS = st.builds(
    TaskSpec,
    task_id=NAMES,
    operator=NAMES,
    arguments=ARGUMENTS,
    upstream=some(NAMES),
    trigger_rule=st.sampled_from(TriggerRule),
    retries=COUNTS,
    retry_delay=SECONDS,
    retry_exponential_backoff=st.booleans(),
    max_retry_delay=st.none() | SECONDS,
    execution_timeout=st.none() | SECONDS,
    pool=NAMES,
    pool_slots=COUNTS,
    priority_weight=st.integers(-5, 5),
    weight_rule=st.sampled_from(WeightRule),
    max_active_tis_per_dag=LIMITS,
    max_active_tis_per_dagrun=LIMITS,
    mapped_over=some(INPUTS),
    on_lost=st.sampled_from(OnLost),
    queue=NAMES,
    depends_on_past=st.booleans(),
    is_setup=st.booleans(),
    is_teardown=st.booleans(),
    needs_spark=st.booleans(),
    retry_jitter=st.none() | st.sampled_from(Jitter),
    retry_on=some(NAMES),
    fail_fast_on=some(NAMES),
    callbacks=EVENTS,
    slas=DEADLINES,
    notifiers=NOTIFIERS,
    doc_md=TEXTS,
    params=ARGUMENTS,
    param_schemas=PARAM_SCHEMAS,
)
DAGS = st.builds(
    DagSpec,
    dag_id=NAMES,
    relative_path=NAMES,
    timetable=st.builds(TimetableSpec, name=NAMES, arguments=ARGUMENTS),
    timezone=NAMES,
    tasks=some(TASKS),
    start_date=DATES,
    end_date=DATES,
    catchup=st.booleans(),
    max_active_runs=COUNTS,
    max_active_tasks=COUNTS,
    max_active_tasks_per_dagrun=LIMITS,
    dagrun_timeout=st.none() | SECONDS,
    params=ARGUMENTS,
    tags=some(NAMES),
    description=TEXTS,
    doc_md=TEXTS,
    is_paused_upon_creation=st.none() | st.booleans(),
    files=some(NAMES),
    dynamic=st.booleans(),
    reparse_on_run=st.booleans(),
    min_file_process_interval=st.none() | st.floats(1, 1e6),
    callbacks=EVENTS,
    catchup_mode=st.none() | st.sampled_from(Catchup),
    catchup_window=st.none() | st.floats(1, 1e6),
    overlap=st.none() | st.sampled_from(Overlap),
    deadlines=DEADLINES,
    notifiers=NOTIFIERS,
    param_schemas=PARAM_SCHEMAS,
    parse_secrets=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    providers=st.dictionaries(NAMES, NAMES, max_size=2),
)
SMALL = DagSpec(
    dag_id="flights",
    relative_path="flights.py",
    timetable=TimetableSpec(name="null"),
    timezone="UTC",
    tasks=(TaskSpec(task_id="land", operator="python", arguments={"a": 1}),),
)

BEFORE = "25dfbe8c3497d848da57179dc02ac5da117d92fb741991f757a6bc209110be7e"
"""The digest of its bytes as the release before the newest arguments has written them."""


DEFINED_BEFORE = "1759c1b9a5d49a34bb8cbc3fa8f20258a09d0badf281f688bee6ed8619d5a439"
"""The hash of its task's definition in that release."""


def stored(**changes: object) -> bytes:
    """The bytes of SMALL with parts of its envelope replaced."""
    return packed({**msgpack.unpackb(codec.encode(SMALL)), **changes})


def stored_dag(**changes: object) -> bytes:
    """The bytes of SMALL with parts of the DAG replaced."""
    return stored(dag={**msgpack.unpackb(codec.encode(SMALL))["dag"], **changes})


def packed(value: object) -> bytes:
    data: bytes = msgpack.packb(value)
    return data


def backwards(value: JsonValue) -> JsonValue:
    """The same value with the entries of all its maps in the reverse order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [backwards(item) for item in value]
    return value


def written_input(each: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in each.items() if name not in LATER_OF_INPUTS or value}
    return {
        name: [written_input(part) for part in value] if name == "parts" else value
        for name, value in kept.items()
    }


@given(DAGS)
def test_the_bytes_hold_what_pydantic_makes_of_the_dag(dag: DagSpec) -> None:
    """They were made by it once, and it still reads them."""
    plain = pydantic.TypeAdapter(DagSpec).dump_python(dag, mode="json")
    written = {name: value for name, value in plain.items() if name not in LATER or value}
    written["tasks"] = [
        {
            name: [written_input(each) for each in value] if name == "mapped_over" else value
            for name, value in task.items()
            if name not in LATER_OF_TASKS or value
        }
        for task in plain["tasks"]
    ]

    assert msgpack.unpackb(codec.encode(dag))["dag"] == written


@given(DAGS)
def test_a_dag_comes_back_as_it_was(spec: DagSpec) -> None:
    assert codec.decode(codec.encode(spec)) == spec


@given(DAGS)
def test_encoding_what_came_back_gives_the_same_bytes(spec: DagSpec) -> None:
    data = codec.encode(spec)

    assert codec.encode(codec.decode(data)) == data


@given(ARGUMENTS, ARGUMENTS)
def test_the_order_of_entries_leaves_no_trace(
    arguments: dict[str, JsonValue], params: dict[str, JsonValue]
) -> None:
    def spec(arguments: JsonValue, params: JsonValue) -> DagSpec:
        assert isinstance(arguments, Mapping)
        assert isinstance(params, Mapping)
        task = replace(SMALL.tasks[0], arguments=arguments)
        return replace(SMALL, tasks=(task,), params=params)

    there = codec.encode(spec(arguments, params))

    assert codec.encode(spec(backwards(arguments), backwards(params))) == there


def test_the_order_of_tasks_and_tags_is_part_of_a_dag() -> None:
    assert codec.encode(replace(SMALL, tags=("a", "b"))) != codec.encode(
        replace(SMALL, tags=("b", "a"))
    )


@given(DAGS, DAGS)
def test_different_dags_have_different_bytes(one: DagSpec, other: DagSpec) -> None:
    assert (codec.encode(one) == codec.encode(other)) is (one == other)


def test_the_format_version_comes_with_the_bytes() -> None:
    assert msgpack.unpackb(codec.encode(SMALL))["format"] == FORMAT_VERSION


@pytest.mark.parametrize("version", [READABLE[-1] + 1, 0, "1", None, [1]])
def test_another_format_says_how_to_get_this_one(version: object) -> None:
    with pytest.raises(SerializationError, match=r"is of format .* reads formats 1 to 4\. Let"):
        codec.decode(stored(format=version))


def without(value: object, names: frozenset[str]) -> object:
    """Plain data, all of whose maps lack the entries of these names."""
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [without(item, names) for item in value]
    return value


NEW = frozenset(
    {
        "weight_rule",
        "max_active_tis_per_dag",
        "max_active_tis_per_dagrun",
        "mapped_over",
        "on_lost",
        "max_active_tasks_per_dagrun",
        "dagrun_timeout",
    }
)


def test_bytes_of_the_first_format_are_read_with_defaults() -> None:
    spec = replace(SMALL, tasks=(replace(SMALL.tasks[0], priority_weight=7, retries=3),))
    dag = without(msgpack.unpackb(codec.encode(spec))["dag"], NEW)

    assert codec.decode(packed({"format": 1, "dag": dag})) == spec


def test_a_dag_without_the_newest_arguments_keeps_its_bytes() -> None:
    """So no DAG gets another version because Headway was upgraded."""
    fields = msgpack.unpackb(codec.encode(SMALL))["dag"]

    assert not LATER & fields.keys()
    assert set(fields) == {field.name for field in dataclasses.fields(DagSpec)} - LATER
    assert set(fields["tasks"][0]) == {field.name for field in dataclasses.fields(TaskSpec)} - (
        LATER_OF_TASKS
    )
    assert sha256(codec.encode(SMALL)).hexdigest() == BEFORE


def test_an_older_release_reads_a_dag_with_newer_arguments_and_leaves_them_out() -> None:
    """What this release does with what it does not know, the one before does with `LATER`."""
    events = (CallbackEvent.FAILURE,)
    task = replace(
        SMALL.tasks[0],
        retry_jitter=Jitter.FULL,
        retry_on=("builtins.OSError",),
        fail_fast_on=("builtins.KeyError",),
        callbacks=events,
        slas=(DeadlineSpec(seconds=60.0),),
        notifiers=(NotifierSpec(connection="ops"),),
        owner="ann",
        on_failure_fail_dagrun=True,
        task_display_name="Land",
        params={"limit": 3},
        param_schemas=(ParamSchema(name="limit", schema={"type": "integer"}),),
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        end_date=datetime(2026, 2, 1, tzinfo=UTC),
        map_index_template="{{ task.op_kwargs['x'] }}",
        mapped_group="g",
    )
    spec = replace(
        SMALL,
        tasks=(task,),
        dynamic=True,
        reparse_on_run=True,
        min_file_process_interval=60.0,
        callbacks=events,
        catchup_mode=Catchup.ROLLUP,
        catchup_window=60.0,
        overlap=Overlap.SKIP,
        notifiers=(NotifierSpec(connection="ops"),),
        deadlines=(DeadlineSpec(at=datetime(2024, 1, 1, tzinfo=UTC)),),
        dag_display_name="Flights",
        groups=(GroupSpec(group_id="g", tasks=("land",)),),
        labels=(EdgeLabel(upstream="land", downstream="land", label="again"),),
        param_schemas=(ParamSchema(name="limit", description="How many"),),
        parse_secrets=("variable:region",),
        providers={"apache-airflow-providers-http": "6.3.0"},
    )
    fields = msgpack.unpackb(codec.encode(spec))["dag"]
    tasks = [{**task, "next_year": True} for task in stored_tasks()]

    assert fields.keys() >= LATER
    assert fields["tasks"][0].keys() >= LATER_OF_TASKS
    assert codec.decode(stored_dag(next_year=True, tasks=tasks)) == SMALL
    assert older(DagSpec, LATER).validate_python(fields).dag_id == SMALL.dag_id
    assert older(TaskSpec, LATER_OF_TASKS).validate_python(fields["tasks"][0]).task_id == "land"


def older(kind: type[Any], later: frozenset[str]) -> "pydantic.TypeAdapter[Any]":
    """What the release before made of the bytes."""
    known = [
        (field.name, field.type) for field in dataclasses.fields(kind) if field.name not in later
    ]
    return pydantic.TypeAdapter(dataclasses.make_dataclass("Older", known, kw_only=True))


def stored_tasks() -> list[dict[str, object]]:
    tasks: list[dict[str, object]] = msgpack.unpackb(codec.encode(SMALL))["dag"]["tasks"]
    return tasks


def test_a_task_without_the_newest_options_keeps_the_hash_of_its_definition() -> None:
    """So nothing is stored a second time because Headway was upgraded."""
    [(digest, _)] = define(SMALL.tasks)
    [(other, text)] = define([replace(SMALL.tasks[0], retry_on=("builtins.OSError",))])

    assert digest == DEFINED_BEFORE
    assert other != digest
    assert "builtins.OSError" in text


def test_the_order_of_what_a_task_is_mapped_over_is_part_of_it() -> None:
    inputs = (MapInput(argument="x", length=2), MapInput(argument="y", task_id="a"))

    def of(mapped_over: tuple[MapInput, ...]) -> bytes:
        task = replace(SMALL.tasks[0], mapped_over=mapped_over)
        return codec.encode(replace(SMALL, tasks=(task,)))

    assert of(inputs) != of(inputs[::-1])


COMBINED = MapInput(
    argument="x", combined=Combined.ZIP, parts=(MapInput(argument="x", task_id="a"),)
)


def test_a_release_that_knows_no_combined_outputs_is_to_refuse_a_dag_with_them() -> None:
    """It would take them for empty lists, and skip the tasks."""
    task = replace(SMALL.tasks[0], mapped_over=(COMBINED,))

    assert msgpack.unpackb(codec.encode(replace(SMALL, tasks=(task,))))["format"] == 3


def test_a_release_that_knows_no_mapped_groups_is_to_refuse_a_dag_with_one() -> None:
    """It would let each instance of a task wait for all instances of the others."""
    over = (MapInput(argument="x", length=2),)
    task = replace(SMALL.tasks[0], mapped_over=over, mapped_group="g")
    expanded = replace(SMALL.tasks[0], mapped_over=over)

    assert msgpack.unpackb(codec.encode(replace(SMALL, tasks=(task,))))["format"] == 4
    assert msgpack.unpackb(codec.encode(replace(SMALL, tasks=(expanded,))))["format"] == 2


def test_what_is_combined_is_written_only_where_it_says_something() -> None:
    plain = replace(SMALL.tasks[0], mapped_over=(MapInput(argument="x", length=2),))
    combined = replace(SMALL.tasks[0], mapped_over=(COMBINED,))
    stored = msgpack.unpackb(codec.encode(replace(SMALL, tasks=(plain, combined))))["dag"]["tasks"]
    texts = [json.loads(text) for _, text in define([plain, combined])]

    for tasks in (stored, texts):
        assert not LATER_OF_INPUTS & tasks[0]["mapped_over"][0].keys()
        [part] = tasks[1]["mapped_over"][0]["parts"]
        assert not LATER_OF_INPUTS & part.keys()


def test_a_dag_that_is_too_large_is_refused_on_both_ways() -> None:
    spec = replace(SMALL, doc_md="x" * LARGEST)

    with pytest.raises(SerializationError, match=r"flights takes .* bytes; 67,108,864 is the lim"):
        codec.encode(spec)
    with pytest.raises(SerializationError, match="over the limit"):
        codec.decode(b"\0" * (LARGEST + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x80\x04\x95\x0f\x00\x00\x00",  # the head of a pickle
        b"\xdd\xff\xff\xff\xff",  # four thousand million items announced
        b"\x91" * 100_000 + b"\xc0",
        codec.encode(SMALL)[:-1],
        codec.encode(SMALL) + b"\xc0",
        packed(None),
        packed([1, 2]),
        packed({"dag": {}}),
        packed({"format": FORMAT_VERSION}),
        stored(dag=None),
        stored(dag=[]),
        stored(dag=msgpack.ExtType(5, b"x")),
        stored(dag=msgpack.Timestamp(0, 0)),
        stored_dag(dag_id=None),
        stored_dag(tasks="land"),
        stored_dag(tasks=[{"task_id": "land"}]),
        stored_dag(tasks=[{"task_id": "land", "operator": "x", "trigger_rule": "sometimes"}]),
        stored_dag(params={1: 2}),
        stored_dag(start_date="yesterday"),
        stored_dag(max_active_runs="many"),
        stored_dag(tasks=[{"task_id": "land", "operator": "x", "weight_rule": "heavy"}]),
        stored_dag(tasks=[{"task_id": "land", "operator": "x", "on_lost": "shrug"}]),
        stored_dag(tasks=[{"task_id": "land", "operator": "x", "mapped_over": [3]}]),
        stored_dag(tasks=[{"task_id": "land", "operator": "x", "mapped_over": [{"length": 1}]}]),
    ],
)
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(SerializationError):
        codec.decode(data)


@given(st.binary(max_size=300) | JSON.map(packed) | ARGUMENTS.map(lambda it: stored_dag(**it)))
def test_whatever_comes_is_a_dag_or_a_serialization_error(data: bytes) -> None:
    try:
        spec = codec.decode(data)
    except SerializationError:
        return
    assert isinstance(spec, DagSpec)


def test_a_version_is_told_by_its_bytes_and_its_code() -> None:
    prints = {
        codec.fingerprint(data, manifest)
        for data in (b"", b"a", b"ab", b"b")
        for manifest in ("", "a", "ab", "b")
    }

    assert len(prints) == 16
    assert codec.fingerprint(b"a", "b") == codec.fingerprint(b"a", "b")
