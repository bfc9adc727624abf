"""Topics as clients write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.errors import RequestError
from headway_api.live import topics
from headway_api.live.topics import Topic, TopicKind

NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("home", Topic(TopicKind.HOME)),
        ("pools", Topic(TopicKind.POOLS)),
        ("dag:etl", Topic(TopicKind.DAG, ("etl",))),
        ("run:etl/manual__2024+00:00", Topic(TopicKind.RUN, ("etl", "manual__2024+00:00"))),
        ("run:etl/50%25%2F", Topic(TopicKind.RUN, ("etl", "50%/"))),
        ("task:etl/r/t", Topic(TopicKind.TASK, ("etl", "r", "t"))),
        ("task:etl/r/t/3", Topic(TopicKind.TASK, ("etl", "r", "t", "3"))),
        ("backfill:7", Topic(TopicKind.BACKFILL, ("7",))),
    ],
)
def test_a_topic_is_its_kind_and_its_names(text: str, topic: Topic) -> None:
    assert topics.parse(text) == topic


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dags",
        "home:x",
        "home:",
        "dag",
        "dag:",
        "dag:a/b",
        "run:etl",
        "run:etl/",
        "run:/r",
        "run:a/b/c",
        "task:a/b/c/d/e",
        "task:a/b/c/-1",
        "task:a/b/c/9999999999",
        "backfill:x",
        "backfill:-1",
        "backfill:٣",
        "backfill:99999999999999999999",
        "dag:a%00b",
        "dag:" + "a" * 2_000,
    ],
)
def test_what_is_no_topic_is_refused_with_all_forms_or_the_number(text: str) -> None:
    with pytest.raises(RequestError, match=r"the topics are|is no number of a"):
        topics.parse(text)


@given(st.lists(NAMES, min_size=2, max_size=2))
def test_a_topic_is_read_back_as_it_is_written(names: list[str]) -> None:
    topic = Topic(TopicKind.RUN, tuple(names))

    assert topics.parse(str(topic)) == topic


def test_a_stream_has_each_topic_once_in_one_order_whatever_the_clients_order() -> None:
    one = topics.parse_all(["run:etl/r", "dag:etl", "dag:etl"])
    other = topics.parse_all(["dag:etl", "run:etl/r"])

    assert one == other == [topics.parse("dag:etl"), topics.parse("run:etl/r")]


@pytest.mark.parametrize("count", [0, 21])
def test_a_stream_has_1_to_20_topics(count: int) -> None:
    with pytest.raises(RequestError, match="between 1 and 20"):
        topics.parse_all([f"dag:d{number}" for number in range(count)])
