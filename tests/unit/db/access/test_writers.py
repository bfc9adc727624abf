"""Each folder of `headway.db` writes the tables that this page names, and its role may."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import headway.db
from headway.db.access.grants_matrix import GRANTS
from headway.db.access.logins import Login
from headway.db.schema import METADATA

FOLDER: Final = Path(headway.db.__file__).parent
WRITES: Final = re.compile(r"\b(?:INSERT INTO|DELETE FROM|UPDATE) (\w+)")

WRITERS: Final[Mapping[str, tuple[frozenset[Login], frozenset[str]]]] = {
    "core": (
        frozenset({Login.SCHEDULER}),
        frozenset(["deadline", "event", "process", "process_beat"]),
    ),
    "parsing": (
        frozenset({Login.PARSER}),
        frozenset(
            [
                "code_file",
                "code_manifest",
                "dag",
                "dag_bundle",
                "dag_deadline",
                "dag_edge",
                "dag_file",
                "dag_notifier",
                "dag_run",
                "dag_task",
                "dag_version",
                "event",
                "import_error",
                "notifier",
                "task_definition",
            ]
        ),
    ),
    "scheduling": (
        frozenset({Login.SCHEDULER}),
        frozenset(
            [
                "callback",
                "dag",
                "dag_run",
                "deadline",
                "notification",
                "notified_event",
                "run_request",
                "skipped_interval",
                "process",
                "scheduler_uptime",
                "task_attempt",
                "task_instance",
                "wake",
            ]
        ),
    ),
    "recovery": (
        frozenset({Login.SCHEDULER}),
        frozenset(
            ["dag_run", "lease", "task_attempt", "task_instance", "task_state_store", "wake"]
        ),
    ),
    "execution": (
        frozenset({Login.WORKER}),
        frozenset(
            [
                "callback",
                "event",
                "lease",
                "notification",
                "notified_event",
                "run_request",
                "spark_work",
                "task_attempt",
                "task_instance",
                "task_state_store",
                "wake",
                "xcom",
            ]
        ),
    ),
    "changes": (
        frozenset({Login.USER}),  # schedulers run some of it, and write no backfill
        frozenset(["backfill", "dag", "dag_run", "lease", "task_attempt", "task_instance", "wake"]),
    ),
    "accounts": (
        frozenset({Login.API}),
        frozenset(
            [
                "api_account",
                "api_idempotency",
                "api_login_limit",
                "api_login_link",
                "api_session",
                "api_token",
            ]
        ),
    ),
    "users": (
        frozenset({Login.USER}),
        frozenset(
            [
                "backfill",
                "backfill_date",
                "dag",
                "dag_bundle",
                "dag_file",
                "dag_run",
                "dag_version",
                "import_error",
                "lease",
                "skipped_interval",
                "pool",
                "secret",
                "secret_grant",
                "task_instance",
                "wake",
            ]
        ),
    ),
}
"""By folder: the role that runs all of its statements, and the tables that these write."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text in a module of the database layer, with the folder that it is in."""
    for path in FOLDER.glob("*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.relative_to(FOLDER).parts[0], " ".join(node.value.split())


def test_a_folder_writes_the_tables_that_are_its_own() -> None:
    found: dict[str, set[str]] = {}
    for folder, text in texts():
        written = set(WRITES.findall(text)) & METADATA.tables.keys()
        if written and folder not in ("access", "migrations"):
            found.setdefault(folder, set()).update(written)

    assert found == {folder: set(tables) for folder, (_, tables) in WRITERS.items()}


@pytest.mark.parametrize("folder", WRITERS)
def test_the_roles_of_a_folder_may_write_them(folder: str) -> None:
    roles, tables = WRITERS[folder]
    for role in roles:
        for table in tables:
            assert re.search("INSERT|UPDATE|DELETE", GRANTS[role].get(table, "")), (role, table)
