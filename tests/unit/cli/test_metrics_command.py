"""`headway metrics`: the page for people, and the same for programs."""

import json

from typer.testing import CliRunner

from headway.cli.main import app
from headway.metrics import catalogue


def test_it_prints_the_page_of_the_docs() -> None:
    assert CliRunner().invoke(app, ["metrics"]).stdout == catalogue.page() + "\n"


def test_it_tells_programs_of_each_metric() -> None:
    rows = json.loads(CliRunner().invoke(app, ["metrics", "-o", "json"]).stdout)

    assert [row["metric"] for row in rows] == [metric.name for metric in catalogue.METRICS]
    [pool] = [row for row in rows if row["metric"] == "headway_pool_starving_slots"]
    assert pool["type"] == "gauge"
    assert pool["labels"] == {"pool": None}
    assert pool["shown_by"] == ["scheduler"]
