"""The commands of docs/deploy/three-machines.md are as `make machines` carries them out."""

from pathlib import Path

import pytest
from tests.machines.page import COMPUTER, steps
from tests.machines.play import _FROM_INDEX, ADDRESSES, PAGE

GUIDES = PAGE.parent


def test_each_step_has_its_machines() -> None:
    found = list(steps(PAGE))

    assert len(found) > 8
    assert {name for step in found for name in step.machines} == {COMPUTER, *ADDRESSES}
    assert sum(_FROM_INDEX in step.script for step in found) == 1


def test_commands_that_no_sentence_gives_a_machine_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("On **a**, do it:\n\n```sh\ntrue\n```\n\nAnd then:\n\n```sh\nfalse\n```\n")

    with pytest.raises(ValueError, match=r"page\.md, line 9"):
        list(steps(page))


@pytest.mark.parametrize("unit", ["api", "scheduler", "parser", "worker", "migrate"])
def test_the_page_writes_each_file_that_a_unit_reads(unit: str) -> None:
    """`$role.env` stands for those of the services."""
    text = (PAGE.parents[2] / f"deploy/systemd/headway-{unit}.service").read_text()
    wanted = {line.rpartition("/")[2] for line in text.splitlines() if "=/etc/headway" in line}

    assert wanted
    for name in wanted - {f"{role}.env" for role in ("api", "scheduler", "parser", "worker")}:
        assert f"> {name}" in PAGE.read_text()
