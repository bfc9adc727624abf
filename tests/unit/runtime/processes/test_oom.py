"""Where it is told how many processes were killed for want of memory."""

from pathlib import Path

import pytest

from headway.runtime.processes.oom import count_in, files_for

ROOT = Path("/c")
OLD = "4:memory:/docker/abc\n3:cpu,cpuacct:/x\n1:name=systemd:/\n"
NEW = "0::/kubepods/pod1\n"


@pytest.mark.parametrize(
    ("mine", "files"),
    [
        (NEW, ["kubepods/pod1/memory.events", "memory.events"]),
        ("0::/\n", ["memory.events", "memory.events"]),
        (OLD, ["memory/docker/abc/memory.oom_control", "memory/memory.oom_control"]),
        (
            f"4:cpu,memory:/a:b\n{NEW}",
            [
                "memory/a:b/memory.oom_control",
                "memory/memory.oom_control",
                "kubepods/pod1/memory.events",
                "memory.events",
            ],
        ),
        ("3:cpu:/\n", []),
        ("", []),
    ],
)
def test_the_files_that_may_tell(mine: str, files: list[str]) -> None:
    assert list(files_for(mine, ROOT)) == [ROOT / file for file in files]


@pytest.mark.parametrize(
    ("events", "count"),
    [
        (b"low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n", 2),
        (b"oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", 5),
        (b"oom_kill_disable 0\nunder_oom 0\n", None),
        (b"", None),
    ],
)
def test_the_count(events: bytes, count: int | None) -> None:
    assert count_in(events) == count
