from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from headway.cli.input.values import parse_conf, parse_date
from headway.domain.errors import RefusalError, RequestError

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2013-01-31", datetime(2013, 1, 31, tzinfo=ZoneInfo(NEW_YORK))),
        ("2013-01-31T06:00", datetime(2013, 1, 31, 6, tzinfo=ZoneInfo(NEW_YORK))),
        ("2013-01-31 06:00:01", datetime(2013, 1, 31, 6, 0, 1, tzinfo=ZoneInfo(NEW_YORK))),
        ("2013-01-31T06:00Z", datetime(2013, 1, 31, 6, tzinfo=UTC)),
        ("2013-01-31T06:00+02:00", datetime(2013, 1, 31, 6, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_date_is_in_the_zone_of_the_dag_unless_it_names_its_own(
    text: str, moment: datetime
) -> None:
    assert parse_date(text, NEW_YORK) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-08T02:30", "2026-03-08T07:00Z"),
        ("2026-03-08T03:00", "2026-03-08T07:00Z"),
        ("2026-11-01T01:30", "2026-11-01T05:30Z"),
        ("2026-11-01T01:30-05:00", "2026-11-01T06:30Z"),
    ],
)
def test_a_date_where_clocks_are_changed_is_an_instant(text: str, moment: str) -> None:
    """What New York skips is the end of the gap, and what it has twice the first of both."""
    read = parse_date(text, NEW_YORK)

    assert (read, read.tzinfo) == (datetime.fromisoformat(moment), UTC)


def test_a_date_that_utc_does_not_have_is_refused() -> None:
    with pytest.raises(RequestError, match="'0001-01-01' is beyond the years 1 to 9999 in UTC"):
        parse_date("0001-01-01", "Asia/Tokyo")


@pytest.mark.parametrize("text", ["", "yesterday", "2013-02-30", "31.1.2013", "2013-01-31T25:00"])
def test_what_is_no_date_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(RequestError, match=r"is no date; write one like 2013-01-31 or") as caught:
        parse_date(text, "UTC")

    assert str(caught.value).startswith(repr(text))


@pytest.mark.parametrize(
    ("text", "conf"),
    [
        (None, {}),
        ("{}", {}),
        (' {"a": [1, null, {"b": 0.5}]} ', {"a": [1, None, {"b": 0.5}]}),
    ],
)
def test_a_conf_is_a_json_object(text: str | None, conf: dict[str, object]) -> None:
    assert parse_conf(text) == conf


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The conf is no JSON"),
        ("{'a': 1}", "The conf is no JSON"),
        ("[1]", "The conf must be a JSON object"),
        ('"text"', "The conf must be a JSON object"),
        ("null", "The conf must be a JSON object"),
        ('{"a": NaN}', r"The conf\['a'\] is nan, which has no form as data"),
        ('{"a": 1e999}', r"The conf\['a'\] is inf"),
        ('{"a": [99999999999999999999]}', r"The conf\['a'\]\[0\] is an integer of more than 64"),
        ('{"a": "\\ud800"}', r"The conf\['a'\] holds half a surrogate pair"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "is nested more than 32 levels deep"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "The conf is no JSON"),
    ],
    ids=lambda value: value[:30],
)
def test_what_no_run_can_be_given(text: str, message: str) -> None:
    with pytest.raises(RefusalError, match=message):
        parse_conf(text)
