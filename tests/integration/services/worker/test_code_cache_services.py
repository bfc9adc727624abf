"""A task that may write to all that its worker keeps cannot change what other tasks run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

HELPER = 'def word():\n    return "as it was"\n'

VICTIM = """
from pathlib import Path
from time import sleep

import helper
from headway.sdk import DAG, task

with DAG("victim"):

    @task
    def at_once():
        return helper.word()

    @task
    def later(params):
        Path(params["started"]).touch()
        while not Path(params["go"]).exists():
            sleep(0.02)
        from library import late

        return late.word()

    at_once() >> later()
"""

EVIL = """
import os
from pathlib import Path

from headway.sdk import DAG, task

MARK = b"as it " + b"was"

with DAG("evil"):

    @task
    def rewrite(params):
        changed = []
        for folder, _, names in os.walk(params["home"]):
            for path in (Path(folder, name) for name in names):
                try:
                    content = path.read_bytes()
                except OSError:
                    continue
                if MARK in content and b"def word" in content:
                    path.chmod(0o644)
                    path.write_bytes(content.replace(MARK, b"stolen"))
                    changed.append(str(path))
        return changed

    rewrite()
"""


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with service_cluster(database_url, tmp_path) as found:
        (found.dags / "library").mkdir()
        (found.dags / "library" / "late.py").write_text(HELPER)
        (found.dags / "helper.py").write_text(HELPER)
        (found.dags / "victim.py").write_text(VICTIM)
        (found.dags / "evil.py").write_text(EVIL)
        for kind in ("parser", "scheduler", "worker"):
            found.start(kind)
        for dag_id in ("victim", "evil"):
            found.wait_for_version(dag_id, 1)
        yield found


def rewrite(cluster: ServiceCluster) -> None:
    """Have a task of another DAG change the code wherever the worker has it on disk."""
    run = cluster.run("evil", {"home": str(cluster.home)})
    assert run.state == "success"
    assert run.xcom("rewrite"), "there was nothing to change"


def started(cluster: ServiceCluster, folder: Path, number: int) -> tuple[StackRun, Path]:
    flags = {name: str(folder / f"{name}-{number}") for name in ("started", "go")}
    run = cluster.trigger("victim", flags)
    cluster.until(lambda _: Path(flags["started"]).exists(), "the task under way")
    return run, Path(flags["go"])


@pytest.mark.regression
def test_code_that_another_attempt_rewrites_is_not_run(
    cluster: ServiceCluster, tmp_path: Path
) -> None:
    first, go = started(cluster, tmp_path, 1)
    rewrite(cluster)  # what the attempt under way has checked, and is about to import
    go.touch()
    first.wait()
    assert (first.state, first.xcom("at_once")) == ("success", "as it was")
    assert first.xcom("later") == "as it was"

    rewrite(cluster)
    second, go = started(cluster, tmp_path, 2)
    go.touch()
    second.wait()

    assert second.state == "success"
    assert (second.xcom("at_once"), second.xcom("later")) == ("as it was", "as it was")
