"""The home of a demo: what an interrupted one has left is no reason to refuse the next one."""

from pathlib import Path

import pytest

from headway.cli.launch import demo
from headway.domain.errors import ConflictError
from headway.runtime.secrets.keyring import new_key
from headway.runtime.settings import secret_keys


def test_keys_that_an_interrupted_demo_has_half_written_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.runtime.settings.secret_keys.os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        secret_keys.write_keys(tmp_path / secret_keys.KEYS_FILE, [new_key()])
    assert list(tmp_path.iterdir())

    demo.erase(tmp_path)

    assert not tmp_path.exists()


def test_what_no_demo_has_made_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("precious")

    with pytest.raises(ConflictError, match=r"holds 'mine.txt', which no demo has made"):
        demo.erase(tmp_path)

    assert mine.read_text() == "precious"
