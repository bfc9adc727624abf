"""What metrics count, and how many series they may have."""

from math import inf, isnan, nan
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headway.metrics import catalogue, process
from headway.metrics.exposition import Exposition
from headway.metrics.metric import (
    EVERY,
    LONGEST,
    MOST,
    OTHER,
    Counter,
    Gauge,
    Histogram,
    Label,
    ServiceKind,
    Values,
)
from headway.metrics.process import CLOCK_SKEW, DISK
from headway.testing.metrics.metrics import filled, observed, total, value

DAGS = 10_000
STATE = Label("state", ("good", "bad"))


def test_ten_thousand_dags_make_no_more_series_than_may_be() -> None:
    counter = Counter("ended", "", EVERY, (Label("dag"), STATE))
    for number in range(DAGS):
        counter.inc(f"dag_{number}", "good")
        counter.inc("dag_0", "good")
    counter.inc("dag_9999", "bad")

    assert len(counter.series()) == MOST + 2
    assert value(counter, "dag_0", "good") == DAGS + 1
    assert value(counter, OTHER, "good") == DAGS - MOST
    assert value(counter, OTHER, "bad") == 1
    assert total(counter) == 2 * DAGS + 1


def test_what_has_a_series_keeps_it() -> None:
    histogram = Histogram("took", "", EVERY, (Label("statement"),))
    for number in range(DAGS):
        histogram.observe(1.0, f"statement_{number}")
        histogram.observe(1.0, "statement_7")

    assert observed(histogram, "statement_7") == DAGS - 7 + 1 + 7
    assert observed(histogram, OTHER) == DAGS - MOST


def test_a_gauge_of_what_was_measured_shows_the_sum_or_the_most_of_the_others() -> None:
    gauge = Gauge("depth", "", EVERY, (Label("pool"),))
    measured: dict[Values, float] = {
        (f"pool_{number:05}",): float(number) for number in range(DAGS)
    }

    gauge.replace(measured)
    assert len(gauge.series()) == MOST + 1
    assert value(gauge, OTHER) == sum(range(MOST, DAGS))
    gauge.replace(measured, most=True)
    assert value(gauge, OTHER) == DAGS - 1
    gauge.replace({("pool_00001",): 1.0})
    assert gauge.series() == [(("pool_00001",), 1.0)]


def test_closed_labels_are_shown_from_the_start() -> None:
    counter = Counter("parses", "", EVERY, (STATE,))
    histogram = Histogram("took", "", EVERY, (STATE,))

    assert counter.series() == [(("good",), 0.0), (("bad",), 0.0)]
    assert [spread.labels for spread in histogram.spreads()] == [("good",), ("bad",)]
    assert Counter("plain", "", EVERY).series() == [((), 0.0)]
    assert Gauge("unset", "", EVERY).series() == []


def test_a_value_counts_below_the_first_bound_that_it_does_not_exceed() -> None:
    histogram = Histogram("took", "", EVERY, bounds=(1.0, 2.0))
    histogram.observe_all([0.5, 1.0, 1.5, 9.0])

    assert histogram.spreads() == [((), [(1.0, 2), (2.0, 3), (inf, 4)], 12.0)]


def test_a_gauge_may_be_read_when_somebody_asks() -> None:
    gauge, levels = Gauge("free", "", EVERY), [3.0, 4.0]
    gauge.read_by(lambda: levels.pop(0))

    assert [gauge.series(), gauge.series()] == [[((), 3.0)], [((), 4.0)]]


def test_a_gauge_that_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    gauge, levels = Gauge("free", "", EVERY), [3.0]
    gauge.read_by(lambda: levels[0])
    assert gauge.series() == [((), 3.0)]

    levels.clear()
    assert gauge.series() == gauge.series() == []
    [told] = caplog.messages
    assert told.startswith("action=skip_metric metric=free error=IndexError(")
    levels.append(4.0)
    assert gauge.series() == [((), 4.0)]


def test_a_disk_that_cannot_be_asked_leaves_the_rest_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = filled(DISK)
    assert isinstance(disk, Gauge)
    monkeypatch.setattr(process, "DISK", disk)
    monkeypatch.setattr(catalogue, "METRICS", (disk, CLOCK_SKEW))
    home = tmp_path / "home"
    home.mkdir()
    process.show_disk(home)
    page = Exposition(ServiceKind.WORKER).page
    assert b'\nheadway_home_disk_bytes{space="free"}' in page()

    home.rmdir()

    assert b"\nheadway_home_disk_bytes{" not in page()
    assert b"# TYPE headway_clock_skew_seconds gauge" in page()


def test_a_name_that_is_too_long_is_cut() -> None:
    counter = Counter("ended", "", EVERY, (Label("dag"),))
    counter.inc("x" * 10_000)

    assert counter.series() == [(("x" * LONGEST,), 1.0)]


def test_the_page_is_what_prometheus_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter("headway_ended", "Runs.", EVERY, (Label("dag"),))
    histogram = Histogram("headway_took_seconds", "Time.", EVERY, bounds=(1.0,))
    gauge = Gauge("headway_ratio", "Odd\nnumbers \\.", EVERY, (Label("of"),))
    counter.inc('odd "name"\n\\')
    histogram.observe(0.5)
    for name, level in (("nan", nan), ("inf", inf), ("minus", -inf), ("small", 1e-9)):
        gauge.set(level, name)
    monkeypatch.setattr(catalogue, "METRICS", (counter, histogram, gauge))

    page = Exposition(ServiceKind.WORKER).page().decode()

    families = list(text_string_to_metric_families(page))
    found = {
        (sample.name, *sample.labels.items()): sample.value
        for family in families
        for sample in family.samples
    }
    assert {metric.type for metric in families if metric.name.startswith("headway")} == {
        "counter",
        "histogram",
        "gauge",
    }
    assert found["headway_ended_total", ("dag", 'odd "name"\n\\')] == 1
    assert found["headway_took_seconds_bucket", ("le", "1.0")] == 1
    assert found["headway_took_seconds_bucket", ("le", "+Inf")] == 1
    assert found["headway_took_seconds_count",] == 1
    assert found["headway_took_seconds_sum",] == 0.5
    assert isnan(found["headway_ratio", ("of", "nan")])
    assert found["headway_ratio", ("of", "inf")] == inf
    assert found["headway_ratio", ("of", "minus")] == -inf
    assert found["headway_ratio", ("of", "small")] == 1e-9
    assert ("process_cpu_seconds_total",) in found


@pytest.mark.parametrize("service", ServiceKind)
def test_the_largest_page_has_a_bound(
    service: ServiceKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make bench NAME=scrape` tells how long it takes."""
    full = tuple(filled(metric) for metric in catalogue.METRICS)
    monkeypatch.setattr(catalogue, "METRICS", full)

    assert len(Exposition(service).page()) < 2**20
