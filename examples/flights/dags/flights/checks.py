"""What must be true of the flights before anything is computed from them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headway.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Each condition finds the rows that break the rule; a condition that is NULL finds none.
RULES: Final = {
    "lack a carrier, number, airport, schedule or distance": """
        carrier IS NULL OR flight IS NULL OR origin IS NULL OR dest IS NULL
        OR sched_dep_time IS NULL OR sched_arr_time IS NULL OR distance IS NULL
    """,
    "are of another day": """
        (year, month, day) IS DISTINCT FROM (year(date), month(date), day(date))
    """,
    "have a time_hour that is not their local hour": """
        time_hour IS DISTINCT FROM
        try_make_timestamp(year, month, day, hour, 0, 0, 'America/New_York')
    """,
    "are scheduled at another time than their hour and minute": """
        sched_dep_time IS DISTINCT FROM hour * 100 + minute
    """,
    "show a time that no clock shows": """
        exists(
            array(dep_time, sched_dep_time, arr_time, sched_arr_time),
            clock -> clock NOT BETWEEN 1 AND 2400 OR clock % 100 > 59
        )
    """,
    "never departed, yet have a delay or an arrival": """
        dep_time IS NULL AND coalesce(dep_delay, arr_time, arr_delay, air_time) IS NOT NULL
    """,
    "departed without a departure delay": "dep_time IS NOT NULL AND dep_delay IS NULL",
    "have only one of arrival delay and air time": """
        (arr_delay IS NULL) <> (air_time IS NULL)
    """,
    "have a departure delay that the clock contradicts": """
        pmod(
            (dep_time DIV 100 * 60 + dep_time % 100)
            - (sched_dep_time DIV 100 * 60 + sched_dep_time % 100)
            - dep_delay,
            1440
        ) <> 0
    """,
    "departed or arrived more than three hours early": "least(dep_delay, arr_delay) < -180",
    "cover no distance": "distance <= 0",
    "took no time, or flew faster than sound": """
        air_time <= 0 OR distance * 60 > 767 * air_time
    """,
}

TWINS: Final = "share their carrier, number and hour with another one"


class BadDataError(AirflowFailException):
    """The data of a day cannot be right: the task fails at once, as a retry cannot mend them."""


def count_offences(flights: "DataFrame") -> dict[str, int]:
    """Return how many rows break each rule, in one pass over landed flights."""
    counts = [f"count_if({condition}) AS `{rule}`" for rule, condition in RULES.items()]
    twins = f"count(*) - count(DISTINCT struct(carrier, flight, time_hour)) AS `{TWINS}`"
    query = f"SELECT {', '.join([*counts, twins])} FROM {{flights}}"
    row = flights.sparkSession.sql(query, flights=flights).first()
    return dict(row.asDict()) if row else {}


def demand_none(offences: Mapping[str, int], period: str) -> None:
    """Raise BadDataError when a rule is broken; the message tells every one that is."""
    broken = [f"{count:,} flights {rule}" for rule, count in offences.items() if count]
    if broken:
        raise BadDataError(f"The flights of {period} are unusable: {'; '.join(broken)}.")


def demand_equal(what: str, counts: Mapping[str, int]) -> None:
    """Raise BadDataError unless all these counts of the same thing are one number above zero."""
    told = ", ".join(f"{count:,} {where}" for where, count in counts.items())
    if len(set(counts.values())) > 1:
        raise BadDataError(f"The {what} do not add up: {told}.")
    if not any(counts.values()):
        raise BadDataError(f"There are no {what}: {told}.")


def demand_equal_rows(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadDataError unless all these tables have equally many rows of each day, and some."""
    for day in sorted({day for table in tables.values() for day in table["days"]}):
        rows = {name: table["days"].get(day, {"rows": 0})["rows"] for name, table in tables.items()}
        demand_equal(f"flights of {day}", rows)
