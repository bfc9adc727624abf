"""What the chart makes of its rules, and that it makes nothing unasked."""

import yaml
from tests.chart.rendering import of_kind, rendered

from headway.testing.alerts import RULES

PAGES = "https://git.example.org/headway/docs/runbook/"


def test_the_alerts_are_those_of_the_file_with_the_address_of_their_pages() -> None:
    [rule] = of_kind(rendered("everything"), "PrometheusRule")
    expected = yaml.safe_load(RULES.read_text().replace("docs/runbook/", PAGES))

    assert rule["spec"] == {"groups": expected["groups"]}
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_none_are_made_unasked() -> None:
    assert not list(of_kind(rendered("least"), "PrometheusRule"))
