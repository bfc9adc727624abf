"""What the API is asked for: the reads that are measured closely, and all others that it has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "openapi.json"

SHOWN: Final = "dag_0001"
"""The DAG whose runs are shown: it has as many of them where no other DAG has any."""

RUN: Final = quote("scheduled__1990-01-01 01:00:00+00")
_OF_DAG: Final = f"/api/v2/dags/{SHOWN}"
_OF_RUN: Final = f"/headway/v1/runs/{SHOWN}/{RUN}"
READS: Final = {
    "/api/v2/dags?limit=50": 50.0,
    _OF_DAG: 25.0,
    f"{_OF_DAG}/dagRuns/{RUN}": 25.0,
    f"{_OF_DAG}/dagRuns?limit=50": 50.0,
    f"{_OF_DAG}/dagRuns/{RUN}/taskInstances?limit=100": 60.0,
    "/api/v2/dags/~/dagRuns?limit=50&cursor=": 50.0,
    "/api/v2/dags/~/dagRuns/~/taskInstances?limit=100&cursor=": 60.0,
    "/api/v2/dags/~/dagRuns/~/taskInstances?state=running": 60.0,
    "/api/v2/pools": 25.0,
    f"/headway/v1/dags/{SHOWN}/grid": 60.0,
    f"/headway/v1/dags/{SHOWN}/versions": 25.0,
    f"{_OF_RUN}/gantt": 60.0,
    f"{_OF_RUN}/graph": 60.0,
    "/headway/v1/search?q=dag_00": 60.0,
    "/headway/v1/processes": 25.0,
}
"""What is asked for, and the milliseconds within which 99 of 100 answers shall come."""

_OF_TASK: Final = "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}"
_NAMES: Final = {
    "dag_id": SHOWN,
    "dag_run_id": RUN,
    "run_id": RUN,
    "task_id": "task_0001",
    "map_index": "-1",
    "task_try_number": "1",
    "version_number": "1",
    "number": "1",
    "pool_name": "default_pool",
    "name": "bench",
}
_QUERIES: Final = {
    f"/headway/v1/dags/{SHOWN}/calendar": "from=1990-01-01&to=1990-12-31",
}
_CLOSELY: Final = frozenset(path.partition("?")[0] for path in READS)
_LEFT_OUT: Final = {
    "/api/v2/version": "it asks the database nothing",
    "/auth/me": "it asks only who makes the request",
    "/headway/v1/live": "it is a stream of events",
    "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/wait": "it waits for a run's end",
    "/api/v2/dagSources/{dag_id}": "the DAGs here have no code",
    f"{_OF_TASK}/listMapped": "the tasks here are not mapped",
    f"{_OF_TASK}/logs/{{try_number}}": "the attempts here have no logs",
}


def others() -> Iterator[str]:
    """Yield every other read of the document but those of what is not there to be read."""
    paths = json.loads(DOCUMENT.read_text())["paths"]
    for template in (path for path, methods in paths.items() if "get" in methods):
        named = set(re.findall(r"{(\w+)}", template))
        path = template.format_map({**dict.fromkeys(named, ""), **_NAMES})
        if template in _LEFT_OUT or named - _NAMES.keys() or path in _CLOSELY:
            continue
        yield f"{path}?{_QUERIES[path]}" if path in _QUERIES else path
