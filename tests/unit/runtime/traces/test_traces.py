"""When traces are sent, and that nobody waits for a collector."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event

import pytest

from headway.domain.errors import SettingsError
from headway.domain.traces import Span
from headway.metrics.process import SPANS_DROPPED
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.traces import traces
from headway.runtime.traces.traces import Pacing, Traces, begin, is_on

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


def span(trace_id: int = 1) -> Span:
    return Span("attempt", trace_id, 2, None, NOON, NOON, {})


@dataclass
class Fake:
    """A collector that waits until it may go on, and then takes what it is sent, or not."""

    takes: bool = True
    may_go_on: Event = field(default_factory=Event)
    sent: list[Span] = field(default_factory=list)
    asked: Event = field(default_factory=Event)

    def is_sampled(self, trace_id: int) -> bool:
        return trace_id != 0

    def send(self, spans: Sequence[Span]) -> bool:
        self.asked.set()
        self.may_go_on.wait(30)
        self.sent += spans
        return self.takes

    def close(self) -> None:
        pass


def started(collector: Fake, most: int = 4, batch: int = 1) -> Traces:
    made = Traces(collector, Pacing(most, 0.01, batch), SystemClock())
    made.start()
    return made


def dropped(why: str) -> float:
    return {series.labels: series.value for series in SPANS_DROPPED.series()}[(why,)]


@pytest.mark.parametrize(
    ("given", "on"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "mine"}, False),
        (HERE, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**HERE, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**HERE, "OTEL_SDK_DISABLED": "TRUE"}, False),
    ],
)
def test_traces_are_off_unless_the_environment_asks_for_them(
    given: dict[str, str], on: bool
) -> None:
    assert is_on(given) is on


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is 'zipkin'"),
        ({**HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "4318"),
        ({**HERE, "OTEL_BSP_MAX_QUEUE_SIZE": "many"}, "OTEL_BSP_MAX_QUEUE_SIZE is 'many'"),
        ({**HERE, "OTEL_BSP_SCHEDULE_DELAY": "0"}, "OTEL_BSP_SCHEDULE_DELAY"),
    ],
)
def test_what_cannot_be_done_is_refused(given: dict[str, str], what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        begin(given, "worker", SystemClock())


def test_without_opentelemetry_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.delitem(sys.modules, "headway.runtime.traces.otlp", raising=False)

    with pytest.raises(SettingsError, match=r"pip install 'headway\[otel\]'"):
        begin(HERE, "worker", SystemClock())


def test_what_is_told_arrives_but_for_what_is_not_sampled() -> None:
    collector = Fake()
    collector.may_go_on.set()
    made = started(collector)

    made.tell(lambda: [span(1), span(0), span(2)])
    made.close()

    assert [sent.trace_id for sent in collector.sent] == [1, 2]


def test_nobody_waits_for_a_collector_that_hangs_and_what_is_too_much_is_counted() -> None:
    before, collector = dropped("queue"), Fake()
    made = started(collector, most=4)
    made.tell(lambda: [span()])
    assert collector.asked.wait(30)  # it hangs with the first one

    for _ in range(10):
        made.tell(lambda: [span()])

    assert dropped("queue") - before == 6
    collector.may_go_on.set()
    made.close()
    assert len(collector.sent) == 5


def test_a_service_ends_although_the_collector_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "PATIENCE", 0.05)
    collector = Fake()
    made = started(collector)
    made.tell(lambda: [span()])

    made.close()

    assert collector.sent == []
    collector.may_go_on.set()


def test_what_the_collector_does_not_take_is_counted() -> None:
    before, collector = dropped("collector"), Fake(takes=False)
    collector.may_go_on.set()
    made = started(collector)

    made.tell(lambda: [span(), span()])
    made.close()

    assert dropped("collector") - before == 2


def test_a_database_that_is_away_ends_nothing() -> None:
    before, collector = dropped("database"), Fake()
    collector.may_go_on.set()
    made = started(collector)

    def away() -> Sequence[Span]:
        raise ConnectionError("no route to the database")

    made.tell(away)
    made.tell(lambda: [span()])
    made.close()

    assert (dropped("database") - before, len(collector.sent)) == (1, 1)
