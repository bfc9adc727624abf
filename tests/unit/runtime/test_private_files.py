"""Which modes of a home's files are repaired at start."""

import stat
from pathlib import Path

import pytest

from headway.runtime.private_files import PRIVATE, repair_modes
from headway.runtime.settings import make_home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.regression
def test_modes_of_secrets_are_repaired_when_a_service_starts(tmp_path: Path) -> None:
    files = [tmp_path / name for name in PRIVATE]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("secret")
        file.chmod(0o4666)
    tmp_path.chmod(0o777)

    make_home(tmp_path)

    assert mode(tmp_path) == 0o755
    assert {mode(file) for file in files} == {0o600}


def test_what_is_right_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "secret-keys").touch(0o400)
    (tmp_path / "notes").touch()
    (tmp_path / "notes").chmod(0o666)
    (tmp_path / "database-url").symlink_to(tmp_path / "notes")
    tmp_path.chmod(0o700)

    assert repair_modes(tmp_path) == []
    assert mode(tmp_path / "notes") == 0o666
    assert mode(tmp_path) == 0o700
