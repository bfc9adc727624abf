"""The modes of folders and files with secrets, as `headway doctor` judges them."""

from pathlib import Path
from subprocess import run

import pytest

from headway.doctor.state import _private


@pytest.mark.parametrize(("mode", "ok"), [(0o600, True), (0o400, True), (0o640, False)])
def test_a_file_with_secrets_is_its_owners_alone(tmp_path: Path, mode: int, ok: bool) -> None:
    file = tmp_path / "secret keys"
    file.touch()
    file.chmod(mode)

    assert _private(file).ok is ok


def test_the_remedy_mends_the_mode(tmp_path: Path) -> None:
    file = tmp_path / "secret keys"
    file.touch()
    file.chmod(0o644)

    run(_private(file).remedy, shell=True, check=True)

    assert _private(file).ok
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_home_that_others_may_look_into_is_not_ok(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    finding = _private(tmp_path)

    assert (finding.ok, finding.remedy) == (False, f"chmod 711 {tmp_path}")


@pytest.mark.parametrize("mode", [0o700, 0o711])
def test_others_may_pass_through_a_home(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)

    assert _private(tmp_path).ok
