"""Leave a process as it was before a DAG file imported `airflow`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from headway.airflow_layer import notes
from headway.airflow_layer.finder import AIRFLOW, LayerFinder


@contextmanager
def without_airflow() -> Iterator[None]:
    """Begin and end with no module of Airflow's, no finder of the layer's, and no notes."""
    path = list(sys.path)
    _forget()
    try:
        yield
    finally:
        _forget()
        sys.path[:] = path


def _forget() -> None:
    notes.forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == AIRFLOW]:
        del sys.modules[name]
    sys.meta_path[:] = [found for found in sys.meta_path if not isinstance(found, LayerFinder)]
