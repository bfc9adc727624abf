"""`airflow`, given by the layer, and gone after the test."""

from collections.abc import Iterator

import pytest

from headway.airflow_layer import finder
from headway.testing.data.airflow_names import without_airflow


@pytest.fixture(autouse=True)
def _layer() -> Iterator[None]:
    with without_airflow():
        finder.install()
        yield
