"""Traces on their way to a collector: kept for a moment, sent by a thread, dropped if need be.

Nobody waits for a collector.  Whoever has something to tell leaves a function that returns it;
the thread calls the function later, and counts what it could not tell.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Final, Protocol, TypeAlias

from headway.domain.errors import SettingsError
from headway.domain.traces import Span
from headway.metrics.process import SPANS_DROPPED
from headway.runtime.daemon.clock import Clock

log = logging.getLogger(__name__)

Telling: TypeAlias = Callable[[], Sequence[Span]]
"""What returns spans; it may ask the database."""

PATIENCE: Final = 5.0
"""Seconds that a service which ends gives to what has not been sent yet."""

_SWITCHES: Final = (
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP: Final = "http/protobuf"


class Collector(Protocol):
    """Where spans go."""

    def is_sampled(self, trace_id: int) -> bool:
        """Whether the settings want that trace."""

    def send(self, spans: Sequence[Span]) -> bool:
        """Send spans, which may take a while; return whether they were taken."""

    def close(self) -> None:
        """Let go of everything."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """How many tellings are kept, and how often they are sent."""

    most: int
    delay: float
    batch: int

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Pacing":
        """Return what the variables of OpenTelemetry's batch processor say."""
        return cls(
            most=_number(environment, "OTEL_BSP_MAX_QUEUE_SIZE", 2048),
            delay=_number(environment, "OTEL_BSP_SCHEDULE_DELAY", 5000) / 1000,
            batch=_number(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
        )


def is_on(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for traces; SettingsError if it asks for what there is not."""
    wanted = any(environment.get(name) for name in _SWITCHES)
    if not wanted or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER") or "otlp"
    if exporter not in ("otlp", "none"):
        raise SettingsError(
            f"OTEL_TRACES_EXPORTER is {exporter!r}; traces go by otlp, or by none. Unset it, or "
            "put a collector between."
        )
    protocol = next((it for name in _PROTOCOLS if (it := environment.get(name))), _HTTP)
    if exporter == "otlp" and protocol != _HTTP:
        raise SettingsError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; traces are sent by {_HTTP}. Unset it, "
            "and name the port of the collector for HTTP, which is 4318 by default."
        )
    return exporter == "otlp"


def begin(environment: Mapping[str, str], service: str, clock: Clock) -> "Traces | None":
    """Return what takes traces of a service, or None where the environment asks for none.

    SettingsError if it asks for them and OpenTelemetry is not installed.
    """
    if not is_on(environment):
        return None
    pacing = Pacing.of(environment)
    try:
        from headway.runtime.traces import otlp
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"The environment asks for traces (OTEL_*), and {error.name} is not installed: "
            "pip install 'headway[otel]', or set OTEL_SDK_DISABLED=true."
        ) from error
    traces = Traces(otlp.collector(environment, service), pacing, clock)
    traces.start()
    return traces


@dataclass(slots=True)
class Traces:
    """Take spans from any thread, and send them from one of its own."""

    collector: Collector
    pacing: Pacing
    clock: Clock
    _waiting: "Queue[Telling]" = field(init=False)
    _hurry: Event = field(default_factory=Event)
    _over: bool = False
    _thread: Thread = field(init=False)

    def __post_init__(self) -> None:
        self._waiting = Queue(self.pacing.most)
        self._thread = Thread(target=self._run, name="traces", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def tell(self, telling: Telling) -> None:
        """Have something told later; never wait, and count it as dropped if too much waits."""
        try:
            self._waiting.put_nowait(telling)
        except Full:
            SPANS_DROPPED.inc("queue")
            return
        if self._waiting.qsize() >= self.pacing.batch:
            self._hurry.set()

    def is_sampled(self, trace_id: int) -> bool:
        """Whether the settings want that trace."""
        return self.collector.is_sampled(trace_id)

    def close(self) -> None:
        """Send what waits, for as long as there is patience."""
        self._over = True
        self._hurry.set()
        self._thread.join(PATIENCE)
        self.collector.close()

    def _run(self) -> None:
        while not self._over:
            self.clock.wait(self._hurry, self.pacing.delay)
            self._hurry.clear()
            self._send()
        self._send()

    def _send(self) -> None:
        """Tell all that waits now, in portions."""
        spans: list[Span] = []
        for _ in range(self._waiting.qsize()):
            try:
                spans += self._told(self._waiting.get_nowait())
            except Empty:
                break
            if len(spans) >= self.pacing.batch:
                self._deliver(spans)
                spans = []
        self._deliver(spans)

    def _told(self, telling: Telling) -> list[Span]:
        try:
            spans = telling()
        except Exception as error:  # noqa: BLE001 - a trace is nothing to end a service for
            log.warning("action=drop_traces error=%s", error)
            SPANS_DROPPED.inc("database")
            return []
        return [span for span in spans if self.is_sampled(span.trace_id)]

    def _deliver(self, spans: Sequence[Span]) -> None:
        if spans and not self.collector.send(spans):
            SPANS_DROPPED.inc("collector", by=len(spans))


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    given = environment.get(name) or str(default)
    if not given.isascii() or not given.isdigit() or int(given) == 0:
        raise SettingsError(f"{name} is {given!r}; it must be a whole number above 0.")
    return int(given)
