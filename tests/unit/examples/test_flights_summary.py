"""The summary of a day, and the demands that counts must meet."""

from typing import Any

import pytest
from flights.checks import BadDataError, demand_equal, demand_equal_rows, demand_none
from flights.report import summarise

from headway.sdk.exceptions import AirflowFailException

DAY = "2013-01-01"

ENRICHED: dict[str, Any] = {
    "rows": 842,
    "cancelled": 4,
    "diverted": 7,
    "mean_dep_delay": 11.54892601431981,
    "mean_arr_delay": None,
    "with_weather": 803,
    "with_plane": 696,
}
CARRIERS = {"rows": 14, "flights": 842}
AIRPORTS = {"rows": 90, "departures": 842, "arrivals": 842}


def figures(*tables: dict[str, Any]) -> list[dict[str, Any]]:
    """What three tables tell of two days."""
    return [{DAY: table, "2013-01-02": {"rows": 0}} for table in tables]


def test_a_summary_holds_the_figures_of_the_three_tables() -> None:
    summary = summarise(DAY, figures(ENRICHED, CARRIERS, AIRPORTS))

    assert summary.day == "2013-01-01"
    assert (summary.flights, summary.cancelled, summary.diverted) == (842, 4, 7)
    assert (summary.carriers, summary.airports) == (14, 90)
    assert (summary.with_weather, summary.with_plane) == (803, 696)


def test_means_are_rounded_and_a_day_without_arrivals_has_none() -> None:
    summary = summarise(DAY, figures(ENRICHED, CARRIERS, AIRPORTS))

    assert (summary.mean_dep_delay, summary.mean_arr_delay) == (11.55, None)


@pytest.mark.parametrize(
    ("carriers", "airports"),
    [
        (CARRIERS | {"flights": 841}, AIRPORTS),
        (CARRIERS, AIRPORTS | {"departures": 843}),
        (CARRIERS, AIRPORTS | {"arrivals": 0}),
    ],
)
def test_tables_that_disagree_have_no_summary(
    carriers: dict[str, int], airports: dict[str, int]
) -> None:
    with pytest.raises(BadDataError, match="flights of 2013-01-01 do not add up: 842 in all"):
        summarise(DAY, figures(ENRICHED, carriers, airports))


def test_equal_counts_pass_and_others_are_told() -> None:
    demand_equal("flights", {"landed": 3, "clean": 3})

    with pytest.raises(BadDataError, match=r"The flights do not add up: 1,842 landed, 3 clean\."):
        demand_equal("flights", {"landed": 1842, "clean": 3})


def test_nothing_at_all_is_not_equal_enough() -> None:
    with pytest.raises(BadDataError, match=r"There are no flights: 0 landed, 0 clean\."):
        demand_equal("flights", {"landed": 0, "clean": 0})


def test_tables_must_agree_on_each_day() -> None:
    landed = {"days": {"2013-01-01": {"rows": 3}, "2013-01-02": {"rows": 4}}}
    demand_equal_rows({"landed": landed, "clean": landed})

    swapped = {"days": {"2013-01-01": {"rows": 4}, "2013-01-02": {"rows": 3}}}
    with pytest.raises(BadDataError, match="flights of 2013-01-01 do not add up: 3 landed, 4"):
        demand_equal_rows({"landed": landed, "clean": swapped})
    less = {"days": {"2013-01-01": {"rows": 3}}}
    with pytest.raises(BadDataError, match="flights of 2013-01-02 do not add up: 4 landed, 0"):
        demand_equal_rows({"landed": landed, "clean": less})
    gap = {"days": {**landed["days"], "2013-01-02": {"rows": 0}}}
    with pytest.raises(BadDataError, match="no flights of 2013-01-02: 0 landed, 0 clean"):
        demand_equal_rows({"landed": gap, "clean": gap})


def test_every_broken_rule_is_told_and_no_other() -> None:
    demand_none({"cover no distance": 0}, DAY)

    with pytest.raises(BadDataError) as caught:
        demand_none({"cover no distance": 2, "fly": 0, "are of another day": 1}, DAY)

    assert str(caught.value) == (
        "The flights of 2013-01-01 are unusable: "
        "2 flights cover no distance; 1 flights are of another day."
    )


def test_bad_data_is_not_tried_again() -> None:
    assert issubclass(BadDataError, AirflowFailException)
