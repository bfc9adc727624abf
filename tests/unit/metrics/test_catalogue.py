"""What is declared, and what docs/metrics.md tells of it."""

import re
from pathlib import Path

import pytest

from headway.metrics import catalogue
from headway.metrics.metric import Gauge, Metric

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"
FORMER = (
    "headway_clock_skew_seconds",
    "headway_illegal_transition",
    "headway_logs_not_copied",
    "headway_log_bytes_lost",
    "headway_pool_slots",
)


def test_the_page_in_the_docs_is_the_one_that_the_command_prints() -> None:
    assert DOCS.read_text() == catalogue.page() + "\n", "headway metrics > docs/metrics.md"


def test_no_two_metrics_have_a_sample_in_common() -> None:
    names = [name for metric in catalogue.METRICS for name in metric.samples]

    assert len(names) == len(set(names))
    assert set(FORMER) <= {metric.name for metric in catalogue.METRICS}


@pytest.mark.parametrize("metric", catalogue.METRICS, ids=lambda it: it.name)
def test_a_metric_is_named_as_prometheus_recommends(metric: Metric) -> None:
    assert re.fullmatch(r"headway_[a-z_]+", metric.name)
    assert not metric.name.endswith("_total")  # the page adds it to counters
    assert metric.help.endswith(".")
    assert metric.services
    if metric.unit and isinstance(metric, Gauge):
        assert metric.name.endswith(f"_{metric.unit}")
    for label in metric.labels:
        assert re.fullmatch(r"[a-z]+", label.name)
        assert label.name not in {"le", "instance", "job"}
