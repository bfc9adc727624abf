"""What a worker's fork servers import."""

import json
import subprocess
import sys

import pytest

from headway_worker.supervision.fork_servers import PRELOAD, PRELOAD_SPARK

KEPT_OUT = {"sqlalchemy", "psycopg2", "headway.db", "pydantic", "prometheus_client"}


@pytest.mark.parametrize("modules", [PRELOAD, PRELOAD_SPARK])
def test_attempts_are_forked_from_what_knows_of_no_database(modules: tuple[str, ...]) -> None:
    """It would double what each of them has to copy."""
    if modules is PRELOAD_SPARK:
        pytest.importorskip("pyspark")
    program = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert set(json.loads(done.stdout)) & KEPT_OUT == set()
