"""What becomes of an attempt's folder."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from headway.runtime.forker import ForkerError, Limits
from headway_worker.attempt import Attempt
from headway_worker.scratch import remove_scratch


def test_an_empty_one_goes(tmp_path: Path) -> None:
    folder = tmp_path / "1-1"
    folder.mkdir(mode=0o000)

    remove_scratch(folder)

    assert not folder.exists()


def test_one_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "1-1"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "file").write_text("left")

    remove_scratch(folder)

    assert not folder.exists()


@pytest.mark.parametrize("there", [True, False])
def test_where_the_task_has_removed_it_nothing_else_goes(tmp_path: Path, there: bool) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    if there:
        (tmp_path / "1-1").symlink_to(precious)

    remove_scratch(tmp_path / "1-1")

    assert (precious / "file").read_text() == "kept"


def test_an_attempt_that_cannot_be_started_leaves_no_folder(tmp_path: Path) -> None:
    forker, program = MagicMock(), MagicMock(target="a:b", environment={})
    program.to_frame.return_value = {}
    forker.spawn.side_effect = ForkerError("The fork server has died.")
    folder = tmp_path / "1-1"

    with pytest.raises(ForkerError):
        Attempt.start(None, program, forker, MagicMock(), folder, Limits())

    assert not folder.exists()
