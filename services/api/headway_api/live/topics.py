"""What can be watched, as clients write it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

from headway.domain.errors import RequestError, brief

MOST_TOPICS: Final = 20
"""Topics of one stream."""

LONGEST_TOPIC: Final = 2_000
_LARGEST: Final = {"backfill": 2**63 - 1, "map index": 2**31 - 1}


class TopicKind(StrEnum):
    """The kinds of topics; those in the first line have nothing after the name."""

    HOME, POOLS = "home", "pools"
    DAG, RUN, TASK, BACKFILL = "dag", "run", "task", "backfill"


_PARTS: Final = {
    TopicKind.HOME: (0,),
    TopicKind.POOLS: (0,),
    TopicKind.DAG: (1,),
    TopicKind.RUN: (2,),
    TopicKind.TASK: (3, 4),
    TopicKind.BACKFILL: (1,),
}

FORMS: Final = "home, pools, dag:DAG, run:DAG/RUN, task:DAG/RUN/TASK[/INDEX] and backfill:NUMBER"


@dataclass(frozen=True, slots=True, order=True)
class Topic:
    """A subject to watch: its kind, and what names it."""

    kind: TopicKind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the topic as clients write it, always in the same way."""
        if not self.names:
            return self.kind
        return f"{self.kind}:{'/'.join(quote(name, safe=':+@[]') for name in self.names)}"


def parse(text: str) -> Topic:
    """Return the topic that is meant; RequestError for none."""
    kind, colon, rest = text.partition(":")
    names = tuple(unquote(name) for name in rest.split("/")) if colon else ()
    if len(text) > LONGEST_TOPIC or kind not in set(TopicKind) or not all(names):
        raise _refused(text)
    topic = Topic(TopicKind(kind), names)
    if len(names) not in _PARTS[topic.kind] or any("\0" in name for name in names):
        raise _refused(text)
    match topic:
        case Topic(TopicKind.BACKFILL, (number,)):
            _check_number("backfill", number)
        case Topic(TopicKind.TASK, (_, _, _, index)):
            _check_number("map index", index)
    return topic


def parse_all(texts: Sequence[str]) -> list[Topic]:
    """Return the topics of a stream, each once, always in the same order."""
    topics = sorted({parse(text) for text in texts})
    if not 1 <= len(topics) <= MOST_TOPICS:
        raise RequestError(
            f"A stream has between 1 and {MOST_TOPICS} topics, not {len(topics)}; the topics are "
            f"{FORMS}."
        )
    return topics


def _check_number(what: str, text: str) -> None:
    if not (text.isascii() and text.isdecimal() and int(text) <= _LARGEST[what]):
        raise RequestError(f"{brief(text)} is no number of a {what}.")


def _refused(text: str) -> RequestError:
    return RequestError(f"{brief(text)} is no topic; the topics are {FORMS}.")
