"""A run stays what it was, and may become what its DAG is now, on a machine without its files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

HELPER = """
def word(name):
    said = f"{said} {{name}}"
    print("the helper says", said)
    return said
"""

HEAD = """
from pathlib import Path
from time import sleep

from headway.sdk import DAG, task
from library.words import word

with DAG("shop"):

    @task
    def hold(params):
        while not Path(params["flag"]).exists():
            sleep(0.05)
        return word("hold")

    @task
    def clean():
        return word("clean")

    @task
    def report():
        return word("report")
"""

OLD = f"""{HEAD}
    @task
    def check():
        return word("check")

    hold() >> clean() >> report()
    hold.override(task_id="second_hold")() >> check()
"""

NEW = f"""{HEAD}
    @task
    def mail():
        return word("mail")

    hold() >> report() >> clean() >> mail()
"""

OLD_TASKS = ("hold", "second_hold", "clean", "report", "check")
NEW_TASKS = ("hold", "clean", "report", "mail")
GONE = ("second_hold", "check")


@dataclass(frozen=True)
class Shop:
    """The DAG's services, and its first run, which waits for a flag."""

    cluster: ServiceCluster
    flag: Path
    run: StackRun

    def edit(self, path: str, content: str) -> None:
        file = self.cluster.dags / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)

    def headway(self, *arguments: str) -> str:
        done = self.cluster.headway(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rerun(self, *options: str) -> StackRun:
        self.headway("runs", "clear", "shop", self.run.run_id, *options, "--yes")
        return self.run.wait()

    def said(self, run: StackRun, *tasks: str) -> set[str]:
        """What the helper has said in each of these tasks, without the task's name."""
        found = {name: str(run.xcom(name)) for name in tasks}
        called = {name: name.removeprefix("second_") for name in tasks}
        assert all(text.endswith(f" {called[name]}") for name, text in found.items()), found
        return {text.split()[0] for text in found.values()}


@pytest.fixture
def shop(database_url: str, tmp_path: Path) -> Iterator[Shop]:
    """Version 1 runs; version 2 (the helper) and 3 (the shape) have come into force since."""
    with service_cluster(database_url, tmp_path) as cluster:
        flag = tmp_path / "flag"
        shop = Shop(cluster, flag, StackRun(cluster, "shop", ""))
        shop.edit("library/words.py", HELPER.format(said="old"))
        shop.edit("shop.py", OLD)
        for kind in ("parser", "scheduler", "worker"):
            cluster.start(kind)
        cluster.wait_for_version("shop", 1)
        run = cluster.trigger("shop", {"flag": str(flag)})
        run.wait_for_task("hold", "running").wait_for_task("second_hold", "running")

        shop.edit("library/words.py", HELPER.format(said="new"))
        cluster.wait_for_version("shop", 2)
        shop.edit("shop.py", NEW)
        cluster.wait_for_version("shop", 3)
        yield Shop(cluster, flag, run)


def let_it_end(shop: Shop) -> None:
    shop.flag.touch()
    shop.run.wait()


def move_to_a_machine_without_dag_files(shop: Shop) -> Path:
    """Have tasks run by a worker that has neither seen a DAG file nor run a task before."""
    for member in list(shop.cluster.members):
        if not member.name.startswith("scheduler"):
            assert shop.cluster.end(member) == 0
    shop.cluster.dags.rename(shop.cluster.dags.with_name("no_dags_any_more"))
    elsewhere = shop.cluster.home.with_name("another_machine")
    shop.cluster.start("worker", 2, {"HEADWAY_HOME": str(elsewhere)})
    return elsewhere


def test_a_run_in_flight_ends_with_the_shape_and_the_code_that_it_began_with(shop: Shop) -> None:
    assert shop.run.row.version == 1
    let_it_end(shop)

    assert shop.run.states() == dict.fromkeys(OLD_TASKS, "success")
    assert shop.said(shop.run, *OLD_TASKS) == {"old"}
    assert "the helper says old clean" in shop.run.log("clean")
    after = shop.cluster.run("shop", {"flag": str(shop.flag)})
    assert after.states() == dict.fromkeys(NEW_TASKS, "success")
    assert (after.row.version, shop.said(after, *NEW_TASKS)) == (3, {"new"})


def test_a_run_in_flight_may_become_what_its_dag_is_now(shop: Shop) -> None:
    shop.headway("runs", "clear", "shop", shop.run.run_id, "--version", "latest", "--yes")
    shop.cluster.until(lambda _: shop.run.attempts("hold")[0].outcome, "the end of what ran")
    let_it_end(shop)

    assert shop.run.row.version == 3
    assert shop.run.states() == {
        **dict.fromkeys(NEW_TASKS, "success"),
        **dict.fromkeys(GONE, "removed"),
    }
    assert shop.said(shop.run, *NEW_TASKS) == {"new"}
    assert [attempt.outcome for attempt in shop.run.attempts("hold")] == ["cancelled", "success"]


def test_a_run_runs_again_as_it_was_and_as_it_is_without_any_dag_file(shop: Shop) -> None:
    let_it_end(shop)
    elsewhere = move_to_a_machine_without_dag_files(shop)

    shop.rerun()  # as it was
    assert (shop.run.state, shop.run.row.version) == ("success", 1)
    assert shop.run.states() == dict.fromkeys(OLD_TASKS, "success")
    assert {len(shop.run.attempts(name)) for name in OLD_TASKS} == {2}
    assert shop.said(shop.run, *OLD_TASKS) == {"old"}

    shop.rerun("--version", "latest")
    assert (shop.run.state, shop.run.row.version) == ("success", 3)
    assert shop.run.states() == {
        **dict.fromkeys(NEW_TASKS, "success"),
        **dict.fromkeys(GONE, "removed"),
    }
    assert shop.said(shop.run, *NEW_TASKS) == {"new"}
    order = shop.run.order()
    assert order[-4:] == ["hold", "report", "clean", "mail"]

    shop.rerun("--version", "2")  # the old shape with the new helper
    assert shop.run.row.version == 2
    assert shop.run.states() == {**dict.fromkeys(OLD_TASKS, "success"), "mail": "removed"}
    assert shop.said(shop.run, *OLD_TASKS) == {"new"}

    shop.rerun("--version", "1")
    assert shop.run.row.version == 1
    assert shop.run.states() == {**dict.fromkeys(OLD_TASKS, "success"), "mail": "removed"}
    assert shop.said(shop.run, *OLD_TASKS) == {"old"}

    another = shop.cluster.run("shop", {"flag": str(shop.flag)})
    assert another.states() == dict.fromkeys(NEW_TASKS, "success")
    assert (another.row.version, shop.said(another, *NEW_TASKS)) == (3, {"new"})
    contents = [path.read_bytes() for path in (elsewhere / "cache" / "code").iterdir()]
    helpers = [HELPER.format(said="old"), HELPER.format(said="new")]
    sources = {source.encode() for source in (OLD, NEW, *helpers)}
    assert sources <= set(contents)
    assert len(contents) == len(set(contents))  # each was fetched once


def test_what_a_dag_was_is_told_without_any_dag_file(shop: Shop) -> None:
    let_it_end(shop)
    move_to_a_machine_without_dag_files(shop)
    run_id = shop.run.run_id

    versions = json.loads(shop.headway("dags", "versions", "shop", "--output", "json"))
    told = [(row["number"], row["in_force"], row["runs"], row["changed"]) for row in versions]
    assert told == [
        (3, True, 0, "structure and code"),
        (2, False, 0, "code"),
        (1, False, 1, "first"),
    ]
    assert [row["tasks"] for row in versions] == [4, 5, 5]

    diff = shop.headway("dags", "diff", "shop", "1").splitlines()
    assert {"- task check", "- task second_hold", "+ task mail"} <= set(diff)
    assert {"- edge clean -> report", "+ edge report -> clean", "+ edge clean -> mail"} <= set(diff)
    assert {'-    said = f"old {name}"', '+    said = f"new {name}"'} <= set(diff)
    only_code = shop.headway("dags", "diff", "shop", "1", "2").splitlines()
    assert [line for line in only_code if "task" in line or "edge" in line] == []
    assert '+    said = f"new {name}"' in only_code

    code = shop.headway("dags", "code", "shop", "--version", "1")
    assert code.index("==> shop.py (version 1) <==") < code.index("==> library/words.py")
    assert "def check():" in code
    assert 'f"old {name}"' in code
    file = ("dags", "code", "shop", "--version", "2", "--file", "library/words.py")
    assert shop.headway(*file) == HELPER.format(said="new")

    shown = shop.headway("runs", "show", "shop", run_id)
    assert "version 1, now 3 is in force" in shown
    assert "check  success" in shown
    shop.rerun("--version", "latest")
    shown = shop.headway("runs", "show", "shop", run_id)
    assert "version 3\n" in shown
    assert "mail  success" in shown
    assert "not in version 3: check  removed" in shown
    upstream = json.loads(shop.headway("runs", "show", "shop", run_id, "--output", "json"))
    assert upstream[0]["upstream"] == {
        "hold": [],
        "report": ["hold"],
        "clean": ["report"],
        "mail": ["clean"],
    }
