"""The list of all metrics, and the page that tells of them."""

from collections.abc import Iterator, Sequence
from typing import Final

from headway.metrics import api, database, parser, process, scheduler, worker
from headway.metrics.metric import EVERY, MOST, OTHER, Histogram, Label, Metric, ServiceKind

SUBJECTS: Final[dict[str, Sequence[Metric]]] = {
    "Every service": process.DECLARED,
    "Database": database.DECLARED,
    "Scheduler": scheduler.DECLARED,
    "Parser": parser.DECLARED,
    "Worker": worker.DECLARED,
    "API": api.DECLARED,
}

METRICS: Final = tuple(metric for declared in SUBJECTS.values() for metric in declared)

_HEAD: Final = f"""\
# Metrics

This page is the output of `headway metrics`. Each service shows its metrics at `/metrics` of its HTTP port ([health.md](health.md)), in the
text format of Prometheus. It also shows the standard metrics of a process (`process_cpu_seconds_total`, `process_resident_memory_bytes`,
`process_open_fds` and so on).

A label is *open* if it has no fixed list of values: names of DAGs, pools, bundles, tables or statements, for example. When a metric with an
open label has {MOST} series, further values of that label are counted under `{OTHER}`. So 10,000 DAGs create only a few more than {MOST} series. Every scheduler
shows the same values for gauges that are measured in the
database: use `max`, not `sum`. Counters start at 0 when a process starts.
"""


def of(service: ServiceKind) -> list[Metric]:
    """Return the metrics that a service shows."""
    return [metric for metric in METRICS if service in metric.services]


def page() -> str:
    """Return the page of all metrics, in Markdown."""
    lines = [_HEAD, *(line for subject in SUBJECTS for line in _section(subject))]
    return "\n".join(lines).rstrip()


def _section(subject: str) -> Iterator[str]:
    yield f"## {subject}\n"
    yield "| metric | type | labels | unit | shown by | what |"
    yield "|---|---|---|---|---|---|"
    for declared in SUBJECTS[subject]:
        name = f"`{declared.name if isinstance(declared, Histogram) else declared.samples[0]}`"
        labels = "; ".join(map(_label, declared.labels)) or "-"
        shown = "all" if declared.services == EVERY else ", ".join(sorted(declared.services))
        kind = type(declared).__name__.lower()
        yield f"| {name} | {kind} | {labels} | {declared.unit or '-'} | {shown} | {declared.help} |"
    yield ""


def _label(label: Label) -> str:
    values = ", ".join(f"`{value}`" for value in label.values) or "open"
    return f"`{label.name}`: {values}"
