"""What has changed between two snapshots, as a client applies it."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from headway_api.live import differences, messages
from headway_api.live.topics import Topic, TopicKind

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
HOME = Topic(TopicKind.HOME)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)).map(json.dumps)
SNAPSHOTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=6)


def applied(before: dict[str, str], event: bytes) -> dict[str, str]:
    """What a client has after an event, as the lines of the event tell it."""
    name, data, *rest = event.decode().split("\n")
    assert rest == ["", ""]
    told = json.loads(data.removeprefix("data: "))
    if name == "event: snapshot":
        return {key: json.dumps(value) for key, value in told["entries"].items()}
    assert name == "event: change"
    kept = {key: value for key, value in before.items() if key not in told.get("gone", [])}
    return kept | {key: json.dumps(value) for key, value in told.get("changed", {}).items()}


@given(SNAPSHOTS, SNAPSHOTS)
def test_a_change_makes_the_later_snapshot_out_of_the_earlier_one(
    before: dict[str, str], after: dict[str, str]
) -> None:
    event = messages.change(HOME, NOON, differences.diff(before, after))

    assert applied(before, event) == after


@given(SNAPSHOTS, SNAPSHOTS)
def test_a_difference_tells_only_what_differs(
    before: dict[str, str], after: dict[str, str]
) -> None:
    difference = differences.diff(before, after)

    assert all(before.get(name) != value for name, value in difference.changed.items())
    assert set(difference.gone) == before.keys() - after.keys()
    assert differences.diff(after, after) == differences.Difference({}, ())


@given(SNAPSHOTS)
def test_a_snapshot_is_told_as_it_is(snapshot: dict[str, str]) -> None:
    assert applied({"other": "1"}, messages.snapshot(HOME, NOON, snapshot)) == snapshot


@given(SNAPSHOTS, SNAPSHOTS)
def test_snapshots_that_differ_have_different_digests(
    one: dict[str, str], other: dict[str, str]
) -> None:
    same = differences.digest(one) == differences.digest(other)

    assert same == (one == other)
    assert differences.digest(one) == differences.digest(dict(reversed(one.items())))
    assert differences.digest(one) != differences.digest(None)


def test_a_digest_tells_a_name_from_its_value() -> None:
    digests = {differences.digest(each) for each in ({"a": "bc"}, {"ab": "c"}, {"a": "b", "c": ""})}

    assert len(digests) == 3
