"""A child for which there is no memory: the kernel kills it, and nobody else, and that is told."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

MEGABYTE = 2**20
SUPERVISOR = """
import json, os, sys
from headway.runtime.forker import ChildSpec, Forker

with open(sys.argv[1] + "/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
log = os.open(os.devnull, os.O_WRONLY)
ended = []
with Forker.start(["forker_targets"], dict(os.environ)) as forker:
    for target, argument in json.loads(sys.argv[2]):
        child = forker.spawn(ChildSpec(target="forker_targets:" + target, argument=argument), log)
        ended.append(child.wait(60).to_frame())
        child.close()
print(json.dumps(ended))
"""


def memory_cgroups() -> Iterator[tuple[Path, str]]:
    """Yield where memory cgroups may be made, and what their limit is called."""
    yield Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"
    yield Path("/sys/fs/cgroup"), "memory.max"


@pytest.fixture
def narrow() -> Iterator[Path]:
    """A cgroup with room for a fork server, and for little else."""
    for base, limit in memory_cgroups():
        folder = base / f"headway-test-{uuid4().hex[:8]}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if (folder / limit).exists():
                (folder / limit).write_text(str(160 * MEGABYTE))
                yield folder
                return
        finally:
            folder.rmdir()
    pytest.skip("no memory cgroup can be made here")


def ends(cgroup: Path, *children: tuple[str, dict[str, int]]) -> list[dict[str, object]]:
    """Start children one after the other below a supervisor in the cgroup; return their ends."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", SUPERVISOR, str(cgroup), json.dumps(children)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_a_child_that_memory_runs_out_for_is_killed_alone_and_it_is_told_why(narrow: Path) -> None:
    greedy = ("grab_memory", {"bytes": 400 * MEGABYTE})
    modest = ("grab_memory", {"bytes": MEGABYTE})

    first, second, third, fourth = ends(narrow, greedy, modest, ("kill_itself", {}), greedy)

    assert (first["signal"], first["oom_kills"]) == (9, 1)
    assert (second["code"], second["oom_kills"]) == (0, None)
    assert (third["signal"], third["oom_kills"]) == (9, 0)
    assert (fourth["signal"], fourth["oom_kills"]) == (9, 1)
