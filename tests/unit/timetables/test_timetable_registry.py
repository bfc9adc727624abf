import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar, cast

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.dag.spec import TimetableSpec
from headway.domain.errors import TimetableError
from headway.sdk import DAG
from headway.serialization import codec
from headway.timetables.base import Arguments, Timetable
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
from headway.timetables.kinds.combined import Union
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.recurring import Recurring
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.registry import BUILT_IN, DEEPEST, MOST_LEVELS, decode, encode, find
from headway.timetables.wall_clock import boolean_pattern

at = datetime.fromisoformat
DAY = timedelta(days=1)

ONE_OF_EACH: list[Timetable] = [
    DataTimetable("@daily", timezone="America/New_York"),
    DataTimetable("0 0 * * MON-FRI", timezone="UTC", interval=DAY),
    CronTimetable("30 6 * * *", "UTC"),
    TimeDeltaTimetable(timedelta(minutes=5, microseconds=1)),
    TimeDeltaTimetable(DAY, interval=7 * DAY),
    OnceTimetable(),
    NullTimetable(),
    ContinuousTimetable(),
    DataTimetable("@monthly", interval="P1M"),
    MultipleCronTimetable(["0 9 * * *", "0 17 * * FRI"], "UTC"),
    PeriodTimetable("P1Y2M3DT4.5S", "Europe/Paris"),
    EventsTimetable(["2026-01-01T09:00", "2026-02-01T00:00+01:00"], "Europe/Paris"),
    Hours(3, 9) & ~Minutes("*/20") | Weekdays("MON-WED", "FRI#1", "L5") & Days("L") & Months("JAN"),
    Workdays(),
    Workdays("DE-BY", "Europe/Berlin"),
    Holidays("US"),
    TradingDays("XNYS"),
    LastWorkdayOnOrBefore(15, "US"),
    Sunrise(40.7, -74),
    Sunset(-33.9, 151.2, "-PT30M"),
    Delayed(OnceTimetable(), timedelta(minutes=5)),
    RollingWindow(DataTimetable("@monthly"), "P1M"),
    CronTimetable("0 9 * * *") | CronTimetable("0 17 * * *"),
    CronTimetable("0 9 * * *") - Holidays("US"),
    CronTimetable("0 9 * * *") & (Workdays("US") - TradingDays("XNYS")),
]


@pytest.mark.parametrize("timetable", ONE_OF_EACH, ids=lambda timetable: timetable.summary)
def test_a_timetable_survives_as_plain_data(timetable: Timetable) -> None:
    spec = encode(timetable)
    stored = json.loads(json.dumps(dict(spec.arguments)))

    assert decode(TimetableSpec(name=spec.name, arguments=stored)) == timetable


def test_a_union_takes_its_timetables_from_a_list_and_is_a_value() -> None:
    parts = [CronTimetable("0 9 * * *"), CronTimetable("0 10 * * *")]
    union = Union(parts)  # type: ignore[arg-type]

    assert union == Union(tuple(parts))
    assert hash(union) == hash(Union(tuple(parts)))


def test_every_built_in_timetable_is_tried() -> None:
    assert {type(timetable) for timetable in ONE_OF_EACH} == set(BUILT_IN.values())


def test_the_data_of_a_timetable() -> None:
    assert encode(DataTimetable("@daily", timezone="UTC", interval=DAY)) == TimetableSpec(
        name="data", arguments={"cron": "0 0 * * *", "timezone": "UTC", "interval": 86400.0}
    )


def test_an_unknown_name_is_refused_and_never_imported() -> None:
    with pytest.raises(
        TimetableError, match=r"'os\.path' is unknown here; known are boolean, continuous"
    ):
        decode(TimetableSpec(name="os.path"))


CRON: dict[str, JsonValue] = {"cron": "0 0 * * *", "timezone": "UTC", "interval": None}
ONCE: dict[str, JsonValue] = {"name": "once", "arguments": {}}
NINE: list[JsonValue] = ["hours", "9"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("data", {"cron": "0 0 * * *", "timezone": "UTC"}, "'interval' is missing"),
        ("data", {"timezone": "UTC", "interval": None}, "'cron' is missing"),
        ("data", CRON | {"cron": 5}, "'cron' must be text, not 5"),
        ("data", CRON | {"cron": "0 0"}, "is no cron string"),
        ("data", CRON | {"timezone": "Mars"}, "is no time zone"),
        ("data", CRON | {"interval": "1 day"}, "The interval of a timetable cannot be '1 day'"),
        ("data", CRON | {"interval": True}, "'interval' must be a number of seconds"),
        ("data", CRON | {"interval": -1}, "must be longer than zero"),
        ("data", CRON | {"b": 1, "a": 2}, "it does not know 'a', 'b'"),
        ("cron", CRON, "it does not know 'interval'"),
        ("delta", {"delta": None, "interval": None}, "'delta' must be a number of seconds"),
        ("delta", {"delta": 1e300, "interval": None}, "'delta' is no duration"),
        ("delta", {"delta": float("nan"), "interval": None}, "'delta' must be a number"),
        ("once", {"at": "noon"}, "it does not know 'at'"),
        ("data", CRON | {"cron": "0," * 600}, "'cron' has more than 1,000 characters"),
        ("data", CRON | {"cron": "0" * 1_000}, "is no cron string"),
        (
            "crons",
            {"crons": "0 0 * * *", "timezone": None},
            "'crons' must be a list of at most 100",
        ),
        ("crons", {"crons": ["0 0 * * *"] * 101, "timezone": None}, "a list of at most 100"),
        ("events", {"dates": ["2026-01-01"] * 10_001, "timezone": None}, "at most 10,000"),
        ("events", {"dates": [5], "timezone": None}, "'dates' must be text"),
        ("last_workday", {"day": 1.5, "calendar": None, "timezone": None}, "a whole number"),
        ("sunset", {"lat": "0", "lon": 0, "offset": 0}, "'lat' must be a number"),
        ("sunset", {"lat": 91, "lon": 0, "offset": 0}, "lat must be a number of degrees"),
        ("sunset", {"lat": 0, "lon": 0, "offset": 50_000}, "at most 12 hours"),
        ("delayed", {"timetable": "once", "by": 5}, "'timetable' must be a timetable"),
        ("delayed", {"timetable": {"name": "once"}, "by": 5}, "'timetable' must be a timetable"),
        ("delayed", {"timetable": ONCE | {"at": 1}, "by": 5}, "'timetable' must be a timetable"),
        ("delayed", {"timetable": {"name": "null", "arguments": {}}, "by": "P1M"}, "of seconds"),
        (
            "delayed",
            {"timetable": {"name": "os.path", "arguments": {}}, "by": 5},
            "is unknown here",
        ),
        ("rolling", {"timetable": ONCE, "size": 5, "timezone": None}, "no rolling window of @once"),
        ("union", {"timetables": [ONCE]}, "can be combined"),
        ("union", {"timetables": []}, "1 to 100 timetables"),
        ("boolean", {"expression": ["hours", "25"], "timezone": None}, "hour field cannot be"),
        ("boolean", {"expression": ["hours"], "timezone": None}, "the expression is none"),
        ("boolean", {"expression": ["hours", "1", "2"], "timezone": None}, "takes one text"),
        ("boolean", {"expression": ["xor", ["hours", "1"]], "timezone": None}, "is unknown"),
        ("boolean", {"expression": ["not", NINE, NINE], "timezone": None}, "is unknown"),
        ("boolean", {"expression": ["and", *[NINE] * 300], "timezone": None}, "too large"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    name: str, arguments: Mapping[str, JsonValue], message: str
) -> None:
    with pytest.raises(TimetableError, match=message):
        decode(TimetableSpec(name=name, arguments=arguments))


def test_timetables_within_timetables_have_a_limit() -> None:
    deep: JsonValue = ONCE
    for _ in range(DEEPEST):
        deep = {"name": "delayed", "arguments": {"timetable": deep, "by": 1}}
    many: list[JsonValue] = [
        {"name": "workdays", "arguments": {"calendar": None, "timezone": None}}
    ]
    wide: list[JsonValue] = [{"name": "union", "arguments": {"timetables": many * 99}}]
    assert isinstance(deep, dict)
    arguments = deep["arguments"]
    assert isinstance(arguments, dict)

    for spec in (
        TimetableSpec(name="delayed", arguments=arguments),
        TimetableSpec(name="union", arguments={"timetables": wide * 4}),
    ):
        with pytest.raises(TimetableError, match="at most 300 timetables in it, 16 levels deep"):
            decode(spec)


HOURS = EventsTimetable([at("2026-01-01T00:00Z") + n * timedelta(hours=1) for n in range(10_000)])
RARE = Days(29) & Months(2) & Weekdays("MON") & Hours(9) & Minutes(0)
LONG = Hours(0) | Minutes(0)
for minute in range(90):
    LONG |= Minutes(minute % 60)
CRONS = MultipleCronTimetable([f"{n % 60} {n // 60} * * *" for n in range(100)])


@pytest.mark.parametrize("part", [HOURS, RARE, LONG, CRONS], ids=["dates", "rare", "long", "crons"])
def test_what_a_timetable_holds_has_one_limit_in_all(part: Recurring) -> None:
    """Each may be there, and two; of the hundred that a union may have it is too much to read."""
    assert decode(encode(Union((part, part)))) == Union((part, part))
    with pytest.raises(TimetableError, match="too large: its dates, cron strings and boolean"):
        encode(Union((part,) * 100))


def test_as_many_levels_as_are_allowed_can_be_stored() -> None:
    timetable: Recurring = CronTimetable("0 0 * * *", "UTC")
    for day in range(1, DEEPEST):
        timetable -= CronTimetable(f"0 0 {day} * *", "UTC")
    spec = DAG("deep", schedule=timetable).spec

    stored = codec.decode(codec.encode(replace(spec, relative_path="deep.py")))
    assert decode(stored.timetable) == timetable


@pytest.mark.regression
@pytest.mark.parametrize("levels", [1, 16, 17, boolean_pattern.DEEPEST])
@pytest.mark.parametrize("around", [0, DEEPEST - 1])
def test_a_boolean_expression_of_as_many_levels_as_are_allowed_can_be_stored(
    levels: int, around: int
) -> None:
    """A union has more levels of lists and maps than any other timetable around one."""
    expression = Hours(3)
    for level in range(1, levels):
        expression = expression & Minutes(level) if level % 2 else expression | Hours(level % 24)
    timetable: Recurring = expression
    for _ in range(around):
        timetable = Union((timetable, CronTimetable("0 0 1 1 *")))
    spec = DAG("deep", schedule=timetable).spec

    stored = codec.decode(codec.encode(replace(spec, relative_path="deep.py")))

    assert decode(stored.timetable) == timetable.in_zone("UTC")


def test_an_expression_of_more_levels_is_refused_where_it_is_made() -> None:
    expression = Hours(3)
    for _ in range(boolean_pattern.DEEPEST - 1):
        expression = ~expression
    with pytest.raises(TimetableError, match="at most 200 fields and operators, 32 levels deep"):
        _ = ~expression


@dataclass(frozen=True, slots=True)
class DeepTimetable(OnceTimetable):
    """Its arguments are lists in lists."""

    name: ClassVar[str] = "deep"
    levels: int = 1

    def arguments(self) -> Mapping[str, JsonValue]:
        value: JsonValue = []
        for _ in range(self.levels - 2):
            value = [value]
        return {"value": value}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> "DeepTimetable":
        value, levels = arguments.take_tree("value"), 2
        while isinstance(value, list) and value:
            value, levels = value[0], levels + 1
        return cls(levels)


def test_arguments_of_a_package_have_as_many_levels_as_can_be_read_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(cast("dict[str, type[Timetable]]", BUILT_IN), "deep", DeepTimetable)
    spec = DAG("deep", schedule=DeepTimetable(MOST_LEVELS)).spec

    stored = codec.decode(codec.encode(replace(spec, relative_path="deep.py")))

    assert decode(stored.timetable) == DeepTimetable(MOST_LEVELS)
    with pytest.raises(TimetableError, match="nested more than 100 levels deep"):
        encode(DeepTimetable(MOST_LEVELS + 1))
    with pytest.raises(TimetableError, match="nested more than 100 levels deep"):
        decode(TimetableSpec(name="deep", arguments=DeepTimetable(MOST_LEVELS + 1).arguments()))


@dataclass(frozen=True, slots=True)
class LunchTimetable(OnceTimetable):
    name: ClassVar[str] = "lunch"


def test_a_timetable_that_is_not_registered_is_refused() -> None:
    with pytest.raises(TimetableError, match="LunchTimetable is not registered"):
        encode(LunchTimetable())
    with pytest.raises(TimetableError, match="LunchTimetable is not registered"):
        encode(Delayed(LunchTimetable(), DAY))


TEA = """
from dataclasses import dataclass, replace
from typing import ClassVar

from headway.timetables.kinds.simple import OnceTimetable


@dataclass(frozen=True, slots=True)
class TeaTimetable(OnceTimetable):
    name: ClassVar[str] = "{name}"
"""


def install(folder: Path, module: str, source: str, entry_point: str) -> None:
    """Put a package into a folder, as pip would: its module, and what it registers."""
    (folder / f"{module}.py").write_text(source)
    told = folder / f"{module}-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[headway.timetables]\n{entry_point}\n")


def test_a_package_may_register_timetables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "teas", TEA.format(name="tea"), "tea = teas:TeaTimetable")
    monkeypatch.syspath_prepend(tmp_path)
    tea = decode(TimetableSpec(name="tea"))

    assert type(tea).__name__ == "TeaTimetable"
    assert encode(tea) == TimetableSpec(name="tea")
    assert decode(encode(Delayed(tea, DAY))) == Delayed(tea, DAY)


FORGETFUL: str = (
    TEA
    + """
    @classmethod
    def from_arguments(cls, arguments):
        arguments.take_text("sort")
        return cls()
"""
)


def test_a_timetable_of_a_package_that_forgets_its_arguments_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = FORGETFUL.format(name="tea_5")
    install(tmp_path, "teas_forgetful", source, "tea_5 = teas_forgetful:TeaTimetable")
    monkeypatch.syspath_prepend(tmp_path)
    tea = find("tea_5")()

    with pytest.raises(TimetableError, match="sort"):
        encode(tea)


@pytest.mark.parametrize(
    ("module", "source", "name", "message"),
    [
        ("teas_lost", "raise RuntimeError('no water')", "tea_1", "cannot be loaded.*no water"),
        ("teas_other", TEA.format(name="coffee"), "tea_2", "whose `name` is 'tea_2'"),
        ("teas_none", "TeaTimetable = 5", "tea_3", "must be a subclass"),
    ],
)
def test_a_package_that_registers_something_else_is_told_so(
    module: str,
    source: str,
    name: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(tmp_path, module, source, f"{name} = {module}:TeaTimetable")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(TimetableError, match=message):
        decode(TimetableSpec(name=name))


def test_a_package_cannot_take_the_name_of_a_timetable_that_is_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "teas_for_all", TEA.format(name="once"), "once = teas_for_all:TeaTimetable")
    monkeypatch.syspath_prepend(tmp_path)

    assert type(decode(TimetableSpec(name="once"))) is OnceTimetable


MILK = (
    TEA.format(name="milk")
    + """
    @classmethod
    def from_arguments(cls, arguments):
        raise KeyError("cow")
"""
)


def test_a_timetable_that_fails_on_what_is_stored_is_an_error_of_its_dag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "milk", MILK, "milk = milk:TeaTimetable")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(TimetableError, match=r"'milk' do not fit: they fail with KeyError\('cow'"):
        decode(TimetableSpec(name="milk"))


@pytest.mark.parametrize(
    ("package", "timetable", "extra"),
    [
        ("holidays", Workdays("FR"), "holidays"),
        ("exchange_calendars", TradingDays("XPAR"), "exchanges"),
        ("astral.sun", Sunset(48.9, 2.4), "solar"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    package: str,
    timetable: Timetable,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    spec = encode(timetable)  # as the SDK does, in workers too, which have no need of it
    with pytest.raises(TimetableError, match=rf"pip install 'headway\[{extra}\]'"):
        decode(spec)
