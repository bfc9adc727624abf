"""The check of a TPC-H result, and where its data lie."""

from pathlib import Path
from typing import Any

import pytest
from tpch import answers, checks, source

QUERIES = Path(__file__).parents[3] / "examples" / "tpch" / "dags" / "queries"
ANSWER = answers.AT_SCALE_1["q12_shipping_modes"]


def test_each_query_has_an_answer() -> None:
    assert {file.stem for file in QUERIES.iterdir()} == set(answers.AT_SCALE_1)


def test_rows_that_differ_by_less_than_a_cent_are_equal() -> None:
    checks.demand_equal("q06", [{"revenue": "123141078.2283"}], [{"revenue": "123141078.23"}])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (ANSWER[:1], "there should be 2 rows and are 1"),
        ([*ANSWER, ANSWER[0]], "there should be 2 rows and are 3"),
        (ANSWER[::-1], "row 1: l_shipmode should be MAIL and is SHIP"),
        ([{**ANSWER[0], "low_line_count": "9325"}, ANSWER[1]], "low_line_count should be 9324"),
        ([{}, ANSWER[1]], "l_shipmode should be MAIL and is None"),
    ],
)
def test_a_difference_is_told(found: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(checks.WrongResultError, match=message):
        checks.demand_equal("q12", found, ANSWER)


def test_each_scale_has_a_folder() -> None:
    params: dict[str, object] = {"scale": 0.01, "output": "/data/tpch"}

    assert source.folder_of(params) == Path("/data/tpch/sf0.01")
    assert source.folder_of({**params, "scale": 1}) == Path("/data/tpch/sf1")
    assert source.folder_of({"scale": 1, "output": "~/x"}) == Path.home() / "x" / "sf1"


@pytest.mark.parametrize("scale", [0, -1, "1", True, 1e9])
def test_a_scale_that_makes_no_sense_is_refused(scale: object) -> None:
    with pytest.raises(ValueError, match="`scale` must be a number above 0"):
        source.scale_of({"scale": scale})


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(ValueError, match="make it an absolute path"):
        source.folder_of({"scale": 1, "output": "tpch"})
