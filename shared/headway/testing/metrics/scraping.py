"""What services show at /metrics, as Prometheus reads it."""

from collections.abc import Iterable
from socket import socket
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from headway.metrics.metric import Metric

Page = dict[tuple[str, frozenset[str]], float]
"""Values by the name of the sample and the values of its labels."""


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def scrape(port: int) -> Page:
    """Return what the service at that port shows."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def missing(page: Page, metrics: Iterable[Metric]) -> set[str]:
    """Return the samples of these metrics that the page does not have."""
    shown = {name for name, _ in page}
    return {name for metric in metrics for name in metric.samples} - shown
