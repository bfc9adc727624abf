"""The commands of the runbook's pages, with running services."""

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from sqlalchemy import text

from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = pytest.mark.services

RUNBOOK = Path(__file__).parents[4] / "docs" / "runbook"
DAGS = Path(__file__).parents[1] / "dags" / "metrics"
PAGES = {page.stem: page.read_text() for page in sorted(RUNBOOK.glob("*.md"))}
COMMANDS = sorted(
    {
        line
        for page in PAGES.values()
        for block in re.findall(r"```sh\n(.*?)```", page, re.S)
        for line in block.splitlines()
    }
)
STATEMENTS = [
    statement
    for page in PAGES.values()
    for statement in re.findall(r"```sql\n(.*?)```", page, re.S)
]
STUCK = {"headway status", "headway doctor"}
"""Commands whose status is 1 if something is amiss, which they print."""


@pytest.fixture(scope="module")
def cluster_at_work(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceCluster]:
    postgres, template = (request.getfixturevalue(name) for name in ("postgres", "template"))
    url = request.getfixturevalue("address")(
        postgres.create_database("headway_test_runbook", template)
    )
    root = tmp_path_factory.mktemp("runbook")
    copytree(DAGS, root / "dags")
    with service_cluster(url, root) as cluster:
        for kind in ("parser", "scheduler"):
            cluster.start(kind)
        cluster.wait_for_version("fails")
        yield cluster
    postgres.drop_database("headway_test_runbook")


def test_the_pages_have_commands() -> None:
    blocks = {name: page.count("```") for name, page in PAGES.items()}

    assert {name for name, count in blocks.items() if count != 2} == {"README"}
    assert len(COMMANDS) > 5
    assert len(STATEMENTS) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_runbook_does_what_it_is_for(
    cluster_at_work: ServiceCluster, command: str
) -> None:
    cluster = cluster_at_work
    run = (cluster.runs("fails") or [cluster.trigger("fails")])[0]
    names = {"DAG": "fails", "RUN": run.run_id, "TASK": "fails", "KIND": "processes", "AGE": "7d"}
    program, *words = (names.get(word, word) for word in command.split())
    assert program == "headway"
    cluster.until(lambda conn: conn.scalar(text("SELECT count(*) FROM task_instance")), "a task")

    done = cluster.headway(*words)

    assert done.returncode in ({0, 1} if command in STUCK else {0}), done
    assert done.stdout.strip()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_of_the_runbook_is_one(cluster_at_work: ServiceCluster, statement: str) -> None:
    with cluster_at_work.engine.begin() as conn:
        assert conn.execute(text(statement)).all()
