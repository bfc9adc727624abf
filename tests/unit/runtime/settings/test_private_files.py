"""Which modes of a home's files are repaired at start."""

import os
import stat
from pathlib import Path

import pytest

from headway.doctor.finding import Examined
from headway.doctor.state import secret_modes
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings import private_files
from headway.runtime.settings.private_files import IN_HOME, private_paths, repair_modes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with settings elsewhere, and everything that may hold secrets, open to others."""
    folder, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for each in (folder, folder / "postgres", elsewhere, elsewhere / "mounted"):
        each.mkdir()
    monkeypatch.setenv("HEADWAY_HOME", str(folder))
    monkeypatch.setenv("HEADWAY_CONFIG", str(elsewhere / "headway.toml"))
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS_FILE", str(elsewhere / "keys"))
    monkeypatch.setenv("HEADWAY_SECRETS_FOLDER", str(elsewhere / "mounted"))
    for path in private_paths(folder):
        if not path.is_dir():
            path.touch()
        path.chmod(0o6777 if path.is_dir() else 0o4666)
    return folder


def judged(home: Path) -> list[bool]:
    return [finding.ok for finding in secret_modes(Examined({}, home, SystemClock()))]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.regression
def test_modes_of_secrets_are_repaired_when_a_service_starts(home: Path) -> None:
    """What `headway doctor` looks at is what is repaired, and it is satisfied then."""
    paths = list(private_paths(home))
    assert judged(home) == [False] * len(paths)

    repaired = repair_modes(home)

    assert repaired == paths
    assert {mode(path) for path in paths if path.is_dir()} == {0o711}
    assert {mode(path) for path in paths if not path.is_dir()} == {0o600}
    assert judged(home) == [True] * (len(IN_HOME) + 4)
    assert repair_modes(home) == []


def test_what_a_link_leads_to_is_left_alone(tmp_path: Path) -> None:
    """Who may write in a home could have any file of this account changed otherwise."""
    (tmp_path / "notes").touch()
    (tmp_path / "notes").chmod(0o666)
    (tmp_path / "database-url").symlink_to(tmp_path / "notes")
    (tmp_path / "secret-keys").hardlink_to(tmp_path / "notes")
    tmp_path.chmod(0o700)

    assert repair_modes(tmp_path) == []
    assert mode(tmp_path / "notes") == 0o666


def test_a_file_that_is_replaced_by_a_link_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mode is changed of what was looked at: by its descriptor."""
    notes, keys = tmp_path / "notes", tmp_path / "secret-keys"
    for file in (notes, keys):
        file.touch()
        file.chmod(0o666)
    tmp_path.chmod(0o700)

    def swapped(opened: int) -> bool:
        keys.rename(tmp_path / "was")
        keys.symlink_to(notes)
        return False

    monkeypatch.setattr(private_files, "is_read_only", swapped)

    assert repair_modes(tmp_path) == [keys]
    assert (mode(notes), mode(tmp_path / "was")) == (0o666, 0o600)


def test_a_fifo_holds_up_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "database-url", 0o600)
    tmp_path.chmod(0o700)

    assert repair_modes(tmp_path) == []


def test_what_cannot_even_be_looked_at_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS_FILE", str(tmp_path / ("x" * 300)))

    assert repair_modes(tmp_path) == []
    assert "action=not_repaired" in caplog.text


def test_what_is_right_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "secret-keys").touch(0o400)
    tmp_path.chmod(0o711)

    assert repair_modes(tmp_path) == []
    assert mode(tmp_path) == 0o711
