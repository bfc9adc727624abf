"""Helm for tests of the chart: skip them where it cannot be had."""

import pytest
from tests.chart.helm import MAJORS, MissingHelmError, helm


@pytest.fixture(scope="session", autouse=True)
def _helm() -> None:
    try:
        for major in MAJORS:
            helm(major)
    except MissingHelmError as error:
        pytest.skip(str(error))
