"""What dashboards are made of: rows of panels, each with a few queries of Prometheus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models.common import LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${source}")
"""Whichever Prometheus is chosen above the panels."""

WINDOW: Final = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Query:
    """An expression of PromQL, and what its series are called."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph, or with `single` one number; `unit` as Grafana calls it."""

    title: str
    about: str
    queries: Sequence[Query]
    unit: str = "short"
    single: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard: its name as a file, its title, and its panels."""

    name: str
    title: str
    about: str
    panels: Sequence[Panel]


ALIVE: Final = Panel(
    "Services alive",
    "Services with a fresh heartbeat, by kind.",
    [Query("max by (kind) (headway_processes)", "{{kind}}")],
    single=True,
)


def rate(sample: str, by: str = "", matchers: str = "") -> str:
    """Return the rate of a counter, summed over instances and what is not in `by`."""
    matched = f"{{{matchers}}}" if matchers else ""
    grouped = f"sum by ({by}) " if by else "sum"
    return f"{grouped}(rate({sample}{matched}[{WINDOW}]))"


def quantile(part: float, histogram: str, by: str = "") -> str:
    """Return the value below which that part of what a histogram has counted lies.

    It is 0 where nothing was counted.
    """
    labels = f"le, {by}" if by else "le"
    buckets = f"sum by ({labels}) (rate({histogram}_bucket[{WINDOW}]))"
    return f"(histogram_quantile({part}, {buckets}) >= 0) or {_zero(by, histogram)}"


def _zero(by: str, histogram: str) -> str:
    grouped = f"sum by ({by}) " if by else "sum"
    return f"{grouped}({histogram}_count) * 0"


def built(board: Board) -> dashboard.Dashboard:
    """Return the dashboard."""
    made = (
        dashboard.Dashboard(board.title)
        .uid(f"headway-{board.name}")
        .description(board.about)
        .tags(["headway"])
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("utc")
        .with_variable(dashboard.DatasourceVariable("source").type("prometheus"))
    )
    for panel in board.panels:
        made.with_panel(_single(panel) if panel.single else _graph(panel))
    return made


def _graph(panel: Panel) -> timeseries.Panel:
    made = timeseries.Panel().title(panel.title).description(panel.about).unit(panel.unit)
    made.datasource(SOURCE).span(12).height(8).min(0)
    made.legend(common.VizLegendOptions().show_legend(True).placement(LegendPlacement.BOTTOM))
    for number, query in enumerate(panel.queries):
        made.with_target(_target(query, number))
    return made


def _single(panel: Panel) -> stat.Panel:
    made = stat.Panel().title(panel.title).description(panel.about).unit(panel.unit)
    made.datasource(SOURCE).span(6).height(4)
    made.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    for number, query in enumerate(panel.queries):
        made.with_target(_target(query, number))
    return made


def _target(query: Query, number: int) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expression).ref_id(chr(ord("A") + number))
    return target.legend_format(query.legend) if query.legend else target
