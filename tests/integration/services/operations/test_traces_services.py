"""Traces of the real services, as a collector receives them by OTLP."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from headway.testing.services.stack import running_stack
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "traces"
SUCCESS, ERROR = 0, 2


@dataclass(frozen=True)
class Received:
    """A span as the collector has it, with the service that sent it; ids in hexadecimal."""

    service: str
    name: str
    trace: str
    span: str
    parent: str
    start: int
    end: int
    status: int
    task: str


@dataclass
class Collector:
    """A collector that keeps what it is sent."""

    spans: list[Received] = field(default_factory=list)
    headers: set[str | None] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def take(self, body: bytes, secret: str | None) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        request = ExportTraceServiceRequest.FromString(body)
        with self.lock:
            self.headers.add(secret)
            for resource in request.resource_spans:
                service = text(resource.resource.attributes, "service.name")
                for scope in resource.scope_spans:
                    self.spans += [received(service, span) for span in scope.spans]

    def named(self, name: str) -> list[Received]:
        with self.lock:
            return sorted(
                (received for received in self.spans if received.name == name),
                key=lambda it: it.start,
            )


def text(attributes: Any, name: str) -> str:
    return next(
        (attribute.value.string_value for attribute in attributes if attribute.key == name), ""
    )


def received(service: str, span: Any) -> Received:
    return Received(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.code,
        text(span.attributes, "headway.task_id"),
    )


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(body, self.headers.get("X-Key"))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_run_is_one_trace_across_services_and_into_its_tasks(tmp_path: Path) -> None:
    with collecting() as (collector, url):
        given = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of-the-collector",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        with running_stack(tmp_path, DAGS, given) as stack:
            run = stack.run("traced")
            state, traceparent = run.state, run.xcom("first")
            until(lambda: collector.named("run traced"), "the span of the run")
            until(lambda: len(collector.named("running")) == 3, "the spans of three attempts")

    (whole,), (due,) = collector.named("run traced"), collector.named("due")
    attempts = [*collector.named("attempt first"), *collector.named("attempt second")]
    phases = [collector.named(name) for name in ("scheduled", "queued", "claimed", "running")]
    assert state == "success"
    assert collector.headers == {"of-the-collector"}
    assert {received.trace for received in collector.spans} == {whole.trace}
    assert (whole.service, whole.parent, whole.status) == ("headway-scheduler", "", SUCCESS)
    assert (due.parent, due.start) == (whole.span, whole.start)
    assert [
        (attempt_span.service, attempt_span.parent, attempt_span.status)
        for attempt_span in attempts
    ] == [("headway-worker", whole.span, status) for status in (SUCCESS, ERROR, SUCCESS)]
    for attempt, *its in zip(attempts, *phases, strict=True):
        assert {span.parent for span in its} == {attempt.span}
        assert [span.start for span in its] == [attempt.start, *(span.end for span in its[:-1])]
        assert its[-1].end == attempt.end
        running = its[-1]
        assert whole.start <= attempt.start <= running.start <= attempt.end <= whole.end
    assert traceparent == f"00-{whole.trace}-{phases[-1][0].span}-01"
