"""Spans by OTLP: the one module that imports OpenTelemetry (extra `otel`)."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from headway import __version__
from headway.domain.traces import Span

log = logging.getLogger(__name__)

_SCOPE: Final = InstrumentationScope("headway", __version__)
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class OtlpCollector:
    """A collector that is reached as OTEL_EXPORTER_OTLP_* say."""

    def __init__(self, resource: Resource) -> None:
        # The provider reads OTEL_TRACES_SAMPLER and OTEL_RESOURCE_ATTRIBUTES; spans go past it.
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._exporter = OTLPSpanExporter()

    def is_sampled(self, trace_id: int) -> bool:
        """Whether the sampler of the settings takes that trace, which all services answer alike."""
        result = self._provider.sampler.should_sample(None, trace_id, "headway")
        return result.decision is Decision.RECORD_AND_SAMPLE

    def send(self, spans: Sequence[Span]) -> bool:
        """Send spans; return whether the collector has taken them."""
        resource = self._provider.resource
        try:
            sent = self._exporter.export([_readable(span, resource) for span in spans])
        except Exception as error:  # noqa: BLE001 - whatever an exporter raises
            log.warning("action=send_traces error=%s", error)
            return False
        return sent is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Let go of the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


def collector(environment: Mapping[str, str], service: str) -> OtlpCollector:
    """Return the collector of the environment, for spans of that service."""
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": f"headway-{service}"}
    return OtlpCollector(Resource.create({"service.version": __version__, **named}))


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    parent = None if span.parent_id is None else _context(span.trace_id, span.parent_id)
    status = Status() if span.error is None else Status(StatusCode.ERROR, span.error)
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=parent,
        resource=resource,
        attributes=dict(span.attributes),
        status=status,
        start_time=_nanoseconds(span.start),
        end_time=_nanoseconds(span.end),
        instrumentation_scope=_SCOPE,
    )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6) * 1000
