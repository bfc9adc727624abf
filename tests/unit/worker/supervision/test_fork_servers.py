"""Which fork server tasks have: one that is started, or the one that is named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from headway.runtime.forker import Forker
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.supervision.fork_servers import (
    PRELOAD,
    PRELOAD_SPARK,
    fork_server,
    spark_fork_server,
)

HERE, THERE = Path("/run/forker/socket"), Path("/run/spark/socket")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    found: list[object] = []

    def start(preload: tuple[str, ...], _environment: Mapping[str, str], *, apart: bool) -> None:
        found.append((preload, apart))

    def connect(path: Path, *, apart: bool) -> None:
        found.append((path, apart))

    monkeypatch.setattr(Forker, "start", start)
    monkeypatch.setattr(Forker, "connect", connect)
    return found


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, [PRELOAD, PRELOAD_SPARK]),
        ({"forker": HERE}, [HERE, HERE]),
        ({"spark_forker": THERE}, [PRELOAD, THERE]),
        ({"forker": HERE, "spark_forker": THERE}, [HERE, THERE]),
    ],
)
def test_what_runs_elsewhere_is_never_replaced_by_one_beside_the_secrets(
    found: list[object], given: dict[str, Path], chosen: list[object]
) -> None:
    settled = configuration.read(WorkerSettings, **given)

    fork_server(settled, {})
    spark_fork_server(settled, {})

    assert found == [(each, True) for each in chosen]
