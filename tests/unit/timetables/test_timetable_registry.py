import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError
from headway.domain.spec import TimetableSpec
from headway.timetables.base import Timetable
from headway.timetables.cron import CronTimetable, DataTimetable
from headway.timetables.delta import TimeDeltaTimetable
from headway.timetables.registry import BUILT_IN, decode, encode
from headway.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable

DAY = timedelta(days=1)

ONE_OF_EACH: list[Timetable] = [
    DataTimetable("@daily", "America/New_York"),
    DataTimetable("0 0 * * MON-FRI", "UTC", interval=DAY),
    CronTimetable("30 6 * * *", "UTC"),
    TimeDeltaTimetable(timedelta(minutes=5, microseconds=1)),
    TimeDeltaTimetable(DAY, interval=7 * DAY),
    OnceTimetable(),
    NullTimetable(),
    ContinuousTimetable(),
]


@pytest.mark.parametrize("timetable", ONE_OF_EACH, ids=lambda timetable: timetable.summary)
def test_a_timetable_survives_as_plain_data(timetable: Timetable) -> None:
    spec = encode(timetable)
    stored = json.loads(json.dumps(dict(spec.arguments)))

    assert decode(TimetableSpec(name=spec.name, arguments=stored)) == timetable


def test_every_built_in_timetable_is_tried() -> None:
    assert {type(timetable) for timetable in ONE_OF_EACH} == set(BUILT_IN.values())


def test_the_data_of_a_timetable() -> None:
    assert encode(DataTimetable("@daily", "UTC", interval=DAY)) == TimetableSpec(
        name="data", arguments={"cron": "0 0 * * *", "timezone": "UTC", "interval": 86400.0}
    )


def test_an_unknown_name_is_refused_and_never_imported() -> None:
    with pytest.raises(TimetableError, match=r"'os\.path' is unknown here; known are continuous"):
        decode(TimetableSpec(name="os.path"))


CRON: dict[str, JsonValue] = {"cron": "0 0 * * *", "timezone": "UTC", "interval": None}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("data", {"cron": "0 0 * * *", "timezone": "UTC"}, "'interval' is missing"),
        ("data", {"timezone": "UTC", "interval": None}, "'cron' is missing"),
        ("data", CRON | {"cron": 5}, "'cron' must be text, not 5"),
        ("data", CRON | {"cron": "0 0"}, "is no cron string"),
        ("data", CRON | {"timezone": "Mars"}, "is no time zone"),
        ("data", CRON | {"interval": "P1D"}, "'interval' must be a number of seconds"),
        ("data", CRON | {"interval": True}, "'interval' must be a number of seconds"),
        ("data", CRON | {"interval": -1}, "must be longer than zero"),
        ("data", CRON | {"b": 1, "a": 2}, "it does not know 'a', 'b'"),
        ("cron", CRON, "it does not know 'interval'"),
        ("delta", {"delta": None, "interval": None}, "'delta' must be a number of seconds"),
        ("delta", {"delta": 1e300, "interval": None}, "'delta' is no duration"),
        ("delta", {"delta": float("nan"), "interval": None}, "'delta' is no duration"),
        ("once", {"at": "noon"}, "it does not know 'at'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    name: str, arguments: Mapping[str, JsonValue], message: str
) -> None:
    with pytest.raises(TimetableError, match=message):
        decode(TimetableSpec(name=name, arguments=arguments))


@dataclass(frozen=True, slots=True)
class LunchTimetable(OnceTimetable):
    name: ClassVar[str] = "lunch"


def test_a_timetable_that_is_not_registered_is_refused() -> None:
    with pytest.raises(TimetableError, match="LunchTimetable is not registered"):
        encode(LunchTimetable())


def test_more_timetables_may_be_made_known() -> None:
    known: dict[str, type[Timetable]] = {**BUILT_IN, LunchTimetable.name: LunchTimetable}

    assert decode(encode(LunchTimetable(), known), known) == LunchTimetable()
