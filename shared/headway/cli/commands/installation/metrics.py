"""`headway metrics`: which metrics there are."""

from typing import TYPE_CHECKING, Final

from headway.cli.screen.output import Format, Output

if TYPE_CHECKING:
    from headway.metrics.metric import Metric

COLUMNS: Final = ("metric", "type", "labels", "unit", "shown_by", "help")


def metrics(output: Output = Format.TABLE) -> None:
    """Print the page of all metrics: name, type, labels, unit, and the services that show them.

    The page is docs/metrics.md.
    """
    from headway.cli.screen.output import show
    from headway.metrics import catalogue

    if output is Format.JSON:
        show(map(_row, catalogue.METRICS), COLUMNS, output)
    else:
        print(catalogue.page())


def _row(metric: "Metric") -> dict[str, object]:
    return {
        "metric": metric.name,
        "type": type(metric).__name__.lower(),
        "labels": {label.name: list(label.values) or None for label in metric.labels},
        "unit": metric.unit or None,
        "shown_by": sorted(metric.services),
        "help": metric.help,
    }
