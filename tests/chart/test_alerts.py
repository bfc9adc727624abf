"""What the chart makes of its rules and dashboards, and that it makes nothing unasked."""

import json

import yaml
from tests.chart.rendering import CHART, of_kind, rendered

from headway.testing.metrics.alerts import RULES

PAGES = "https://git.example.org/headway/docs/runbook/"


def test_the_alerts_are_those_of_the_file_with_the_address_of_their_pages() -> None:
    [rule] = of_kind(rendered("everything"), "PrometheusRule")
    expected = yaml.safe_load(RULES.read_text().replace("docs/runbook/", PAGES))

    assert rule["spec"] == {"groups": expected["groups"]}
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_the_dashboards_are_those_of_the_files() -> None:
    maps = {
        key: value
        for manifest in of_kind(rendered("everything"), "ConfigMap")
        if manifest["metadata"]["labels"].get("grafana_dashboard") == "1"
        for key, value in manifest["data"].items()
    }
    files = {f"headway-{path.name}": path for path in (CHART / "dashboards").iterdir()}

    assert {key: json.loads(value) for key, value in maps.items()} == {
        key: json.loads(path.read_text()) for key, path in files.items()
    }


def test_none_are_made_unasked() -> None:
    made = {
        manifest["metadata"]["labels"]["app.kubernetes.io/component"]
        for manifest in rendered("least")
    }

    assert made.isdisjoint({"alerts", "dashboards"})
