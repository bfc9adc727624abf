"""A well-formed request for each operation of the API; what it names is in the hidden bundle."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

HIDDEN: Final = "zz_hidden"
"""What every name of the other bundle contains."""

Operation: TypeAlias = tuple[str, str]
"""A method and a path."""

NAMES: Final[Mapping[str, str]] = {
    "dag_id": HIDDEN,
    "dag": HIDDEN,
    "dag_run_id": "manual__0",
    "run_id": "manual__0",
    "run": "manual__0",
    "task_id": f"{HIDDEN}_task",
    "task": f"{HIDDEN}_task",
    "map_index": "-1",
    "task_try_number": "1",
    "try_number": "1",
    "attempt": "1",
    "version_number": "1",
    "version": "1",
    "number": "1",
    "old": "1",
    "new": "1",
    "path": f"{HIDDEN}.py",
    "xcom_key": "return_value",
    "key": "return_value",
    "pool_name": "default_pool",
    "name": "none",
    "variable_key": "none",
    "connection_id": "none",
    "backfill_id": "1",
    "id": "1",
    "event_log_id": "1",
    "import_error_id": "1",
    "file_token": "none",
    "account": "none",
    "process_id": "1",
    "token_id": "99",
}

_RUN: Final = "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}"
_INSTANCE: Final = f"{_RUN}/taskInstances/{{task_id}}"
_NATIVE_RUN: Final = "/headway/v1/runs/{dag_id}/{run_id}"
_BACKFILL: Final = {
    "dag_id": HIDDEN,
    "from_date": "2024-01-01T00:00:00Z",
    "to_date": "2024-01-03T00:00:00Z",
}

QUERIES: Final[Mapping[Operation, Mapping[str, str]]] = {
    ("PATCH", "/api/v2/dags"): {"dag_id_pattern": "~"},
    ("GET", f"{_RUN}/wait"): {"interval": "1"},
    ("GET", "/api/v2/backfills"): {"dag_id": HIDDEN},
    ("GET", "/headway/v1/dags/{dag_id}/calendar"): {"from": "2024-01-01", "to": "2024-02-01"},
    ("GET", "/headway/v1/search"): {"q": HIDDEN},
    ("GET", "/headway/v1/live"): {"topic": "home"},
}
"""The query of each operation that needs one."""

BODIES: Final[Mapping[Operation, Any]] = {
    ("PATCH", "/api/v2/dags"): {"is_paused": True},
    ("PATCH", "/api/v2/dags/{dag_id}"): {"is_paused": True},
    ("POST", "/api/v2/dags/{dag_id}/dagRuns"): {"logical_date": None},
    ("POST", "/api/v2/dags/{dag_id}/dagRuns/list"): {},
    ("PATCH", _RUN): {"state": "failed"},
    ("POST", f"{_RUN}/clear"): {"dry_run": False},
    ("POST", f"{_RUN}/taskInstances/list"): {},
    ("PATCH", _INSTANCE): {"new_state": "failed"},
    ("PATCH", f"{_INSTANCE}/{{map_index}}"): {"new_state": "failed"},
    ("PATCH", f"{_INSTANCE}/dry_run"): {"new_state": "failed"},
    ("PATCH", f"{_INSTANCE}/{{map_index}}/dry_run"): {"new_state": "failed"},
    ("POST", "/api/v2/dags/{dag_id}/clearTaskInstances"): {
        "dry_run": False,
        "dag_run_id": "manual__0",
        "only_failed": False,
    },
    ("POST", "/api/v2/pools"): {"name": "new", "slots": 3},
    ("PATCH", "/api/v2/pools/{pool_name}"): {"slots": 3},
    ("POST", "/api/v2/variables"): {"key": "new", "value": "it"},
    ("PATCH", "/api/v2/variables/{variable_key}"): {"key": "none", "value": "it"},
    ("POST", "/api/v2/connections"): {"connection_id": "new", "conn_type": "http"},
    ("PATCH", "/api/v2/connections/{connection_id}"): {
        "connection_id": "none",
        "conn_type": "http",
    },
    ("POST", "/api/v2/backfills"): _BACKFILL,
    ("POST", "/api/v2/backfills/dry_run"): _BACKFILL,
    ("POST", f"{_NATIVE_RUN}/clear"): {},
    ("POST", f"{_NATIVE_RUN}/mark"): {"as": "failed"},
    ("POST", f"{_NATIVE_RUN}/cancel"): {},
    ("POST", "/headway/v1/tasks/{dag_id}/{run_id}/{task_id}/cancel"): {},
    ("POST", "/headway/v1/simulate"): {"pools": {"default_pool": 3}},
    ("POST", "/headway/v1/processes/{process_id}/drain"): {},
    ("POST", "/headway/v1/tokens"): {"name": "new"},
    ("POST", "/headway/v1/accounts"): {
        "name": "eve",
        "role": "admin",
        "password": "a password that is long",
    },
    ("PATCH", "/headway/v1/accounts/{name}"): {"role": "admin"},
}
"""The body of each operation that needs one."""


def filled(path: str) -> str:
    """Return a path with names of the hidden bundle for its parameters.

    The lists that take their filters in the body have `~` for any DAG and any run.
    """
    if path.endswith("/list"):
        return re.sub(r"\{\w+\}", "~", path)
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: NAMES[found.group(1)], path)
