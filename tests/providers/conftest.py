"""Run DAG files that use provider packages by `headway dags test`, as users do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import pytest

RunDag: TypeAlias = Callable[..., str]


@pytest.fixture(scope="session", autouse=True)
def _providers() -> None:
    try:
        version("apache-airflow-providers-common-compat")
    except PackageNotFoundError:
        pytest.skip("apache-airflow-providers-* is not installed: make test-providers")


@pytest.fixture
def run_dag(tmp_path: Path) -> RunDag:
    """Run the only DAG of a source, `d`, with these connections; return what was printed."""

    def run(source: str, *, ends_well: bool = True, **connections: dict[str, Any]) -> str:
        file = tmp_path / "dags" / "d.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
        given = {
            f"HEADWAY_CONN_{name.upper()}": json.dumps(fields)
            for name, fields in connections.items()
        }
        done = subprocess.run(
            [sys.executable, "-m", "headway.cli", "dags", "test", str(file), "d", "2024-01-05"],
            env={**os.environ, **given, "HEADWAY_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said = done.stdout + done.stderr
        assert (done.returncode == 0) is ends_well, said
        return said

    return run


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The address of a server that answers as those of Amazon do."""
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
