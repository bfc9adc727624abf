"""How metrics stand, for tests."""

from headway.metrics.metric import MOST, Counter, Gauge, Histogram, Label, Metric


def value(metric: Counter | Gauge, *labels: str) -> float | None:
    """Return the value of a series; None if there is no such series."""
    return {series.labels: series.value for series in metric.series()}.get(labels)


def total(metric: Counter) -> float:
    """Return the sum of all series."""
    return sum(series.value for series in metric.series())


def observed(metric: Histogram, *labels: str) -> int:
    """Return how many values a series of a histogram has counted."""
    return {spread.labels: spread.counts[-1][1] for spread in metric.spreads()}.get(labels, 0)


def filled(metric: Metric) -> Metric:
    """Return a metric like that one, with as many series as it may have."""
    declared = metric.name, metric.help, metric.services, metric.labels, metric.unit
    new: Metric = (
        Histogram(*declared, bounds=metric.bounds)
        if isinstance(metric, Histogram)
        else type(metric)(*declared)
    )
    for number in range(MOST + 1 if new.is_open else 1):
        _fill(new, number, [_value(label, number) for label in new.labels])
    return new


def _value(label: Label, number: int) -> str:
    return label.values[number % len(label.values)] if label.values else f"{number:0100}"


def _fill(metric: Metric, number: int, labels: list[str]) -> None:
    match metric:
        case Counter():
            metric.inc(*labels, by=number + 0.123456789)
        case Gauge():
            metric.set(number + 0.123456789, *labels)
        case Histogram():
            metric.observe(number + 0.123456789, *labels)
