"""DAGs with code and runs, in a bundle that everybody sees and in one of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Engine, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.db.parsing import dag_registration, stored_code, versions
from headway.db.parsing.dag_registration import DagEntry
from headway.db.parsing.versions import NewVersion
from headway.domain.accounts import AccountRole
from headway.domain.dag.spec import DagSpec
from headway.serialization import codec
from headway.serialization.manifest import content_hash, manifest_hash
from headway.testing.data import seed, version_code

V1 = "/headway/v1"
RUN = f"scheduled__{seed.START.isoformat()}"


def store_code(engine: Engine, spec: DagSpec, files: Mapping[str, bytes]) -> int:
    """Put a DAG with these files in force; return the version's id."""
    manifest = version_code.hashes(files)
    code, data = manifest_hash(manifest), codec.encode(spec)
    contents = {content_hash(content): content for content in files.values()}
    with engine.begin() as conn:
        stored_code.add_code(conn, {code: manifest}, contents)
        dag_registration.enter(conn, [DagEntry("main", spec.relative_path, spec)], paused=False)
        new = NewVersion(spec, data, codec.fingerprint(data, code), code)
        added = versions.add(conn, [new])
        dag_registration.put_in_force(conn, added)
    return added[spec.dag_id]


def move(engine: Engine, dag_id: str, bundle: str) -> None:
    """Put a DAG into another bundle."""
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag SET bundle = :bundle WHERE dag_id = :dag"),
            {"bundle": bundle, "dag": dag_id},
        )


def sql(engine: Engine, statement: str, **parameters: object) -> None:
    """Execute a statement."""
    with engine.begin() as conn:
        conn.execute(text(statement), parameters)


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of accounts with each role, and of one that sees the bundle `mine` alone."""

    admin: TestClient
    operator: TestClient
    viewer: TestClient
    limited: TestClient


@pytest.fixture
def clients(api: Api) -> Iterator[Clients]:
    with (
        api.client(api.token("admin")) as admin,
        api.client(api.token("olga", AccountRole.OPERATOR)) as operator,
        api.client(api.token("vera", AccountRole.VIEWER)) as viewer,
        api.client(api.token("lena", AccountRole.OPERATOR, ("mine",))) as limited,
    ):
        yield Clients(admin, operator, viewer, limited)


@pytest.fixture
def two_versions(api: Api) -> Api:
    """A DAG with two versions: the first has task a, the second has b below it."""
    first = seed.dag(seed.task("a"))
    store_code(api.engine, first, {"etl.py": b"one\n", "lib/x.py": b"same\n", "old.py": b"gone\n"})
    second = replace(seed.dag(seed.task("a"), seed.task("b", "a")), max_active_tasks=3)
    store_code(api.engine, second, {"etl.py": b"two\n", "lib/x.py": b"same\n"})
    return api


@pytest.fixture
def running(api: Api) -> Api:
    """A run of a DAG, of which a has succeeded and b, below it, is scheduled."""
    run = seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.finish(api.engine)
    sql(
        api.engine,
        "UPDATE task_instance SET state = 'scheduled', scheduled_at = now() "
        "WHERE dag_run_id = :run AND task_id = 'b'",
        run=run,
    )
    return api
