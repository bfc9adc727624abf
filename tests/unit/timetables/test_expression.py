"""What users may type for a timetable, and what they may not."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from headway.domain.errors import TimetableError
from headway.timetables.base import Timetable
from headway.timetables.expression import LONGEST, read
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.wall_clock import boolean_pattern

ZONE = "Europe/Paris"
DAY = timedelta(days=1)
NINE = CronTimetable("0 9 * * *", ZONE)


@pytest.mark.parametrize(
    ("text", "timetable"),
    [
        (" 0 9 * * MON-FRI ", DataTimetable("0 9 * * MON-FRI", timezone=ZONE)),
        ("@quarterly", DataTimetable("@quarterly", timezone=ZONE)),
        ("@once", OnceTimetable()),
        ("PT6H", TimeDeltaTimetable(timedelta(hours=6))),
        ("P1M", PeriodTimetable("P1M", ZONE)),
        ("Once", OnceTimetable()),
        ("Continuous()", ContinuousTimetable()),
        ("NullTimetable()", NullTimetable()),
        ("DataTimetable('0 0 * * *', interval='P1D')", DataTimetable("0 0 * * *", DAY, ZONE)),
        ("CronTimetable('0 9 * * *', timezone='UTC')", CronTimetable("0 9 * * *", "UTC")),
        (
            "MultipleCronTimetable(['@daily', '@weekly'])",
            MultipleCronTimetable(["@daily", "@weekly"], ZONE),
        ),
        ("TimeDeltaTimetable('P1D', interval='PT6H')", TimeDeltaTimetable(DAY, DAY / 4)),
        ("EventsTimetable(('2026-01-01',))", EventsTimetable(["2026-01-01"], ZONE)),
        ("Delayed(RollingWindow('0', 'P7D'), by='PT2H')", None),
        (
            "Delayed(RollingWindow(DataTimetable('@daily'), size='P7D'), by='PT2H')",
            Delayed(RollingWindow(DataTimetable("@daily", None, ZONE), 7 * DAY, ZONE), DAY / 12),
        ),
        (
            "Hours(3, 9) & ~Minutes('*/20') | Weekdays('MON', 3) & Days(1, 'L') - Months(2)",
            (
                Hours(3, 9) & ~Minutes("*/20") | Weekdays("MON", 3) & (Days(1, "L") - Months(2))
            ).in_zone(ZONE),
        ),
        ("CronTimetable('0 9 * * *') & Workdays()", NINE & Workdays(timezone=ZONE)),
        ("CronTimetable('0 9 * * *') - Holidays('US')", NINE - Holidays("US", ZONE)),
        ("CronTimetable('0 9 * * *') | CronTimetable('0 9 * * *')", NINE | NINE),
        ("TradingDays('XNYS')", TradingDays("XNYS", ZONE)),
        ("LastWorkdayOnOrBefore(day=15)", LastWorkdayOnOrBefore(15, None, ZONE)),
        ("Sunset(-33.9, 151, offset='-PT30M')", Sunset(-33.9, 151, -DAY / 48)),
        ("Sunrise(48.9, 2.4)", Sunrise(48.9, 2.4)),
        ("Sunrise(+48.9, +2.4)", Sunrise(48.9, 2.4)),
    ],
)
def test_what_a_text_means(text: str, timetable: Timetable | None) -> None:
    if timetable is None:
        with pytest.raises(TimetableError, match="RollingWindow takes a timetable"):
            read(text, ZONE)
    else:
        assert read(text, ZONE) == timetable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The timetable is empty"),
        ("tomorrow", "is no cron string"),
        ("P1", "write an ISO 8601 duration"),
        ("Hours(", "cannot be read"),
        ("Hours(3) + Hours(4)", "joined, by &, | and -"),
        ("Hours(3) and Hours(4)", "has no place in a timetable"),
        ("Hours(3) & 4", "can be combined"),
        ("3 & Hours(4)", "joined, by &, | and -"),
        ("Delayed(Once(), 'PT1H') & Hours(3)", "go around the whole"),
        ("~Workdays()", "~ is for Hours"),
        ("(5)", "is no timetable"),
        ("Hours(True)", "has no place in a timetable"),
        ("Hours(+True)", "has no place in a timetable"),
        ("+Hours(3)", "has no place in a timetable"),
        ("Hours(*[1, 2])", "has no place"),
        ("Hours(**{'a': 1})", "without \\*\\*"),
        ("Ours(3)", "There is no timetable 'Ours'. Did you mean Hours?"),
        ("Union(3)", "There is no timetable 'Union'"),
        ("CronTimetable()", r"is written CronTimetable\(cron, timezone=…\): missing .* 'cron'"),
        ("CronTimetable", r"^CronTimetable is written CronTimetable\(cron, timezone=…\): missing"),
        ("CronTimetable('0 9 * * *', at=5)", "timezone=…\\): got an unexpected .* 'at'"),
        ("Days('1,2', cron=3)", r"Days is written Days\(values…\): got an unexpected .* 'cron'"),
        ("p1d", "Did you mean 'P1D'"),
        ("Daily", "Did you mean '@daily'"),
        ("once", "Did you mean '@once'"),
        ("Workdays('de-by')", "Did you mean 'DE-BY'"),
        ("Workdays('xx')", "'DE-BY'.$"),
        ("Delayed('@daily', by='PT1H')", r"such as DataTimetable\('@daily'\), not '@daily'"),
        ("Hours(3) & ~Hours(3)", "holds for no minute at all: no minute of any day has all"),
        ("EventsTimetable(['0001-01-01T00:00+05:00'])", "beyond the years 1 to 9999"),
        ("EventsTimetable(['0001-01-01'], timezone='Asia/Tokyo')", "beyond the years 1 to 9999"),
        (" | ".join(["Hours(3)"] * 250), "at most 200 fields and operators, 32 levels deep"),
        ("CronTimetable('0 9 * * *', timezone='Mars')", "'Mars' is no time zone"),
        ("Days(31) & Months(2)", "holds for no minute at all"),
        ("Workdays('Atlantis')", "no country with known holidays"),
        ("__import__('os').system('true')", "has no place in a timetable"),
        ("Hours(3).__class__", "has no place"),
        ("(lambda: Hours(3))()", "has no place"),
        ("[Hours(3) for _ in (1,)]", "has no place"),
        ("Hours(9**9)", "joined, by"),
        ("Hours(f'{1}')", "has no place"),
        ("Hours(" + "1," * 2000 + "1)", "at most 4,000 characters"),
        ("~" * 300 + "Hours(3)", "at most 200 fields and operators, 32 levels deep"),
        ("(" * 250 + "Hours(3)" + ")" * 250, "too many nested parentheses"),
    ],
)
def test_what_is_no_timetable_is_refused(text: str, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        read(text, ZONE)


BREAK = """
from dataclasses import dataclass
from typing import ClassVar

from headway.timetables.kinds.simple import OnceTimetable


@dataclass(frozen=True, slots=True)
class Break(OnceTimetable):
    name: ClassVar[str] = "pause"
    drink: str = "tea"

    def __post_init__(self):
        if not self.drink:
            raise KeyError("drink")

    def arguments(self):
        return {"drink": self.drink}

    @classmethod
    def from_arguments(cls, arguments):
        return cls(arguments.take_text("drink"))
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that registers a timetable, installed as pip would."""
    (tmp_path / "pauses.py").write_text(BREAK)
    told = tmp_path / "pauses-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: pauses\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[headway.timetables]\npause = pauses:Break\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_a_timetable_that_a_package_registers_may_be_typed() -> None:
    """By the name of its class, as in a DAG file, or by the one that is registered."""
    for text in ("Break('milk')", "pause(drink='milk')"):
        timetable = read(text, ZONE)
        assert (timetable.name, timetable.arguments()) == ("pause", {"drink": "milk"})
    assert read("Break", ZONE) == read("pause", ZONE) == read("pause()", ZONE)
    assert read("Delayed(Break('milk'), by='PT1H')", ZONE).children == (
        read("Break('milk')", ZONE),
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Brake()", "Did you mean Break?"),
        ("Break(cup=1)", r"Break is written Break\(drink=…\): got an unexpected"),
        ("Break('')", r"Break fails with KeyError\('drink'\)"),
        ("Break(pauses)", "has no place in a timetable"),
    ],
)
def test_it_is_read_like_any_other(text: str, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        read(text, ZONE)


@pytest.mark.regression
def test_an_expression_has_so_many_characters_at_most() -> None:
    short = "Hours(3) & Minutes(0)"
    fits = short.replace(" & ", f" & {' ' * (LONGEST - len(short))}")

    assert len(fits) == LONGEST == 4000
    assert read(fits, ZONE) == read(short, ZONE)
    with pytest.raises(TimetableError, match="An expression has at most 4,000 characters"):
        read(f"{fits[:-1]} )", ZONE)


@pytest.mark.regression
def test_the_terms_of_an_expression_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read each anew for every term that is joined to it took many seconds."""
    read_anew: list[int] = []
    always = boolean_pattern._always

    def counted(minutes: Iterator[int]) -> Callable[[date], int]:
        read_anew.append(1)
        return always(minutes)

    monkeypatch.setattr(boolean_pattern, "_always", counted)
    text = " | ".join(f"Minutes('{number % 30}-{30 + number // 30}')" for number in range(150))

    read(text, ZONE)

    assert 0 < len(read_anew) <= 150
