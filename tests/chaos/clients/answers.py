"""What must hold of the answers that clients got: each check yields its violations in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.chaos.clients.exchange import CHANGES, Exchange, WishKind
from tests.chaos.clients.stored import Stored
from tests.chaos.clients.watchers import LiveState
from tests.chaos.fault_series import Span

HINDERS: Final = frozenset(
    {
        "kill api",
        "stall api",
        "cut off api",
        "kill Postgres",
        "close connections",
        "hold a lock",
    }
)
"""The faults during which a request may be answered by 503, or not at all."""

REFUSED: Final = "ConnectionRefusedError"

AFTERWARDS: Final = 15.0
"""Seconds after such a fault in which a request may still feel it."""

COMES_BACK: Final = 300.0
"""Seconds after such a fault in which an api must answer again: on a busy machine it loads long."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All that clients have sent, and when there were which faults."""

    exchanges: Sequence[Exchange]
    faults: Sequence[Span]


def violations(asked: Asked, stored: Stored) -> list[str]:
    """Return everything in the answers that must not be."""
    return [
        *never_done(asked),
        *lost_runs(asked, stored),
        *doubled_runs(stored),
        *rehearsed_runs(asked, stored),
        *journal_gaps(asked, stored),
        *pool_forgotten(asked, stored),
        *never_answered(asked),
        *refused(asked),
        *hindered_by_nothing(asked),
    ]


def never_done(asked: Asked) -> Iterator[str]:
    """Kinds of requests of which none was answered well: nothing is proved about them."""
    done = {exchange.kind for exchange in asked.exchanges if exchange.is_done}
    for kind in WishKind:
        if kind not in done:
            yield f"{kind}: no request was answered well"


def lost_runs(asked: Asked, stored: Stored) -> Iterator[str]:
    """Triggers that were answered by a run that is not there, or is of another trigger."""
    keys = {run.run_id: run.key for run in stored.runs}
    for exchange in _done(asked, WishKind.TRIGGER):
        if keys.get(exchange.said) != exchange.key:
            yield f"{exchange.key}: the run {exchange.said} of the answer is not in the database"


def doubled_runs(stored: Stored) -> Iterator[str]:
    """Keys by which more than one run was made."""
    times = Counter(run.key for run in stored.runs)
    for key, number in sorted(times.items(), key=str):
        if number > 1:
            yield f"{key}: {number} runs were made by one key"


def rehearsed_runs(asked: Asked, stored: Stored) -> Iterator[str]:
    """Runs that nobody has asked for: left by a rehearsal, or of no key."""
    triggered = {it.key for it in asked.exchanges if it.kind is WishKind.TRIGGER}
    for run in stored.runs:
        if run.key not in triggered:
            yield f"run {run.run_id} is of {run.key}, by which no run was to be made"


def journal_gaps(asked: Asked, stored: Stored) -> Iterator[str]:
    """Changes that were answered well and are not in the journal, or are there more often."""
    wanted = Counter((str(kind), it.mark) for kind in CHANGES for it in _done(asked, kind))
    for action, mark in sorted(wanted.keys() | stored.journal.keys()):
        answered, entered = wanted[action, mark], stored.journal[action, mark]
        if answered != entered:
            what = f"{action} {mark}".rstrip()
            yield f"{what}: {answered} answered well, {entered} in the journal of the person"


def pool_forgotten(asked: Asked, stored: Stored) -> Iterator[str]:
    """A pool that has other slots than the last answer has said."""
    last = [exchange.mark for exchange in _done(asked, WishKind.POOL)][-1:]
    if last and last != [str(stored.slots)]:
        yield f"the pool has {stored.slots} slots and was changed to {last[0]}"


def never_answered(asked: Asked) -> Iterator[str]:
    """Changes that were sent again and again without an answer."""
    last: dict[str, Exchange] = {
        exchange.key: exchange for exchange in asked.exchanges if exchange.kind in CHANGES
    }
    for key, exchange in last.items():
        if exchange.is_open:
            yield f"{key} was never answered: {exchange.said}"


def refused(asked: Asked) -> Iterator[str]:
    """Answers of errors: each request was right, and its caller may do what it asks for."""
    for it in asked.exchanges:
        if not (it.is_done or it.is_open):
            yield f"{it.key} of {it.api}: {it.status} for {it.path}: {it.said[:200]}"


def hindered_by_nothing(asked: Asked) -> Iterator[str]:
    """Requests that were answered by 503, or not at all, while nothing was in their way.

    A fault is in their way until the api has answered again.  A connection is refused where no api
    runs: whether one has ended without a cause is known.
    """
    apis = {it.api for it in asked.exchanges}
    felt = {
        api: [
            (span.began, _felt_until(span, api, asked))
            for span in asked.faults
            if span.kind in HINDERS
        ]
        for api in apis
    }
    for it in asked.exchanges:
        if (
            it.is_open
            and not it.said.startswith(REFUSED)
            and not any(began <= it.ended and it.began <= until for began, until in felt[it.api])
        ):
            how = it.status or "no answer"
            took = it.ended - it.began
            yield f"{it.key} of {it.api}: {how} after {took:.1f} s for {it.path}: {it.said[:200]}"


def _felt_until(span: Span, api: str, asked: Asked) -> float:
    """Return until when requests to an api may feel a fault."""
    answered = (
        it.ended
        for it in asked.exchanges
        if it.api == api and it.is_done and it.kind is not WishKind.WATCH and it.began > span.ended
    )
    back = min(answered, default=span.ended + COMES_BACK)
    return max(span.ended + AFTERWARDS, min(back, span.ended + COMES_BACK))


def unlike(state: LiveState, stored: Stored) -> Iterator[str]:
    """What a client that watches knows otherwise than it is in the end."""
    final = stored.topics()
    for topic, seen in state.topics.items():
        wanted = final[topic]
        for name, members in wanted.items():
            known = {member: seen.get(name, {}).get(member) for member in members}
            if known != members:
                yield f"a stream of {topic} has {name} as {known}, and it is {members}"
        for name in sorted(seen):
            if name.startswith(("running/", "cell/")):
                yield f"a stream of {topic} has {name}, and nothing runs"


def counted_answers(asked: Asked) -> Counter[str]:
    """Return how many requests were answered how."""
    return Counter(
        "refused connection" if it.said.startswith(REFUSED) else str(it.status or "no answer")
        for it in asked.exchanges
    )


def _done(asked: Asked, kind: WishKind) -> Iterator[Exchange]:
    return (it for it in asked.exchanges if it.kind is kind and it.is_done)
