"""Dashboards: their files, and what they ask for."""

from deploy.helm.dashboards.files import BOARDS, FOLDER, texts

from headway.metrics import catalogue
from headway.testing.metrics.alerts import samples_in

QUERIES = [
    query.expression for board in BOARDS for panel in board.panels for query in panel.queries
]


def test_the_files_are_made_of_the_code() -> None:
    files = {path.name: path.read_text() for path in FOLDER.iterdir()}

    assert files == texts(), "run `make chart-files`"


def test_they_ask_for_metrics_that_there_are() -> None:
    declared = {name for metric in catalogue.METRICS for name in metric.samples}
    asked = {name for query in QUERIES for name in samples_in(query)}

    assert asked <= declared


def test_every_metric_is_on_a_dashboard() -> None:
    asked = {name for query in QUERIES for name in samples_in(query)}

    assert [metric.name for metric in catalogue.METRICS if asked.isdisjoint(metric.samples)] == []


def test_each_panel_says_what_it_shows() -> None:
    for board in BOARDS:
        titles = [panel.title for panel in board.panels]
        assert len(titles) == len(set(titles))
        assert all(panel.about.endswith(".") for panel in board.panels)
