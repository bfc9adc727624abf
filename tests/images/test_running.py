"""The images run with a read-only root, as an account without rights, and attempts run in them."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headway import __version__
from headway.runtime.sandbox import landlock
from headway.testing.containers.contained import Contained, standalone
from headway.testing.containers.images import namespaces_refused
from headway.testing.containers.podman import ISOLATED, Podman
from headway.testing.time.clock import until

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def services(podman: Podman, headway: str) -> Iterator[Contained]:
    with standalone(podman, headway, HERE / "dags") as running:
        yield running


def doctor(podman: Podman, image: str, *options: str) -> dict[str, dict[str, Any]]:
    """What the doctor finds in a container: its rows by their check."""
    told = podman.run([*ISOLATED, *options], image, "doctor", "-o", "json", check=False)
    return {row["check"]: row for row in json.loads(told)}


def test_it_tells_its_version(podman: Podman, image: str) -> None:
    assert podman.run(ISOLATED, image, "version").strip() == __version__


def test_the_doctor_misses_nothing_but_a_database(podman: Podman, image: str) -> None:
    rows = doctor(podman, image)

    assert [name for name, row in rows.items() if not row["ok"]] == ["database"]


def test_the_doctor_says_which_mounts_are_missing(podman: Podman, headway: str) -> None:
    bare = [name for name in ISOLATED if not name.startswith("--tmpfs")]

    told = podman.run(bare, headway, "doctor", "-o", "json", check=False)

    rows = {row["check"]: row for row in json.loads(told)}
    assert not rows["disk of home"]["ok"]
    assert "/tmp cannot be written to" in rows["disk of temporary files"]["found"]
    assert "a writable volume at /var/lib/headway/home" in rows["disk of home"]["remedy"]
    assert "sandbox" not in rows


def test_the_doctor_knows_which_image_has_spark(
    podman: Podman, headway: str, headway_spark: str
) -> None:
    without, with_it = doctor(podman, headway), doctor(podman, headway_spark)

    assert "tasks of Spark cannot run here" in without["pyspark"]["found"]
    assert "java" not in without
    assert with_it["pyspark"]["found"].startswith("PySpark 4")
    assert "java-17-openjdk" in with_it["java"]["found"]


def test_the_doctor_says_what_stands_in_for_walls_that_a_pod_cannot_have(
    podman: Podman, headway: str, tmp_path: Path
) -> None:
    try:
        landlock.version()
    except OSError:
        pytest.skip("this kernel does not have Landlock")
    profile = namespaces_refused(tmp_path)

    rows = doctor(podman, headway, f"--security-opt=seccomp={profile}")

    missing = {name.removeprefix("sandbox: ") for name in rows if name.startswith("sandbox: ")}
    assert missing == {"user", "namespace", "proc"}
    assert rows["sandbox"]["ok"]
    assert (
        "with limits of resources, without capabilities, with Landlock" in rows["sandbox"]["found"]
    )
    assert "Instead, Landlock keeps files" in rows["sandbox: user"]["found"]
    assert "user namespaces" in rows["sandbox: namespace"]["wanted"]
    assert "CAP_SYS_ADMIN" in rows["attempts"]["found"]


def test_an_attempt_runs_without_rights(services: Contained) -> None:
    run_id, state = services.outcome("probe")

    log = services.log("probe", run_id, "look")
    found = json.loads(re.search("found (.*)", log)[1])  # type: ignore[index]
    assert state == "success", log
    assert (found["user"], found["read_only"]) == (10001, True)
    assert (int(found["CapEff"], 16), int(found["CapBnd"], 16)) == (0, 0)
    assert found["NoNewPrivs"] == "1"


def test_bash_git_and_ssh_are_there(services: Contained) -> None:
    run_id, state = services.outcome("tools")

    log = services.log("tools", run_id, "tell")
    assert state == "success", log
    assert "10001" in log
    assert "git version" in log
    assert "OpenSSH" in log


def test_who_loses_its_parent_is_waited_for(services: Contained) -> None:
    shell = partial(services.container.run, "sh", "-c", check=False)
    gone = "test -s /tmp/orphan && ! test -e /proc/$(cat /tmp/orphan)"

    shell("sh -c 'echo $$ > /tmp/orphan' &")

    until(lambda: shell(gone).returncode == 0, "the end of a process that has lost its parent")


def test_all_is_well_with_running_services(services: Contained) -> None:
    rows = services.rows("doctor")

    assert [row for row in rows if not row["ok"]] == []


def test_it_ends_when_it_is_told_to(podman: Podman, headway: str) -> None:
    with standalone(podman, headway, HERE / "dags") as running:
        assert running.container.stop() == 0
        assert running.container.log().rstrip().endswith("Stopped.")


@pytest.mark.spark
def test_a_task_of_spark_runs(podman: Podman, headway_spark: str) -> None:
    with standalone(podman, headway_spark, HERE / "spark_dags") as running:
        run_id, state = running.outcome("sums")
        log = running.log("sums", run_id, "total")

    assert state == "success", log
    assert "total 499500" in log
