"""How much memory processes can still get."""

from pathlib import Path

import pytest

from headway_worker.resources import available_memory

MEMINFO = "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 400 kB\n"


@pytest.mark.regression
@pytest.mark.parametrize(
    ("limit", "used", "left"),
    [("max", 0, 400 * 1024), (300_000, 200_000, 100_700), (10**9, 0, 400 * 1024), (5, 10_000, 0)],
)
def test_what_the_kernel_can_free_counts(
    tmp_path: Path, limit: int | str, used: int, left: int
) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 700\n")

    assert available_memory(tmp_path, tmp_path) == left


def test_without_proc_nothing_is_told(tmp_path: Path) -> None:
    assert available_memory(tmp_path, tmp_path) is None
