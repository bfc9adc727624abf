"""Commands whose output cannot be written, or is read by nobody."""

import subprocess
import sys
from pathlib import Path

import pytest

HEADWAY = f"{sys.executable} -m headway.cli"
COMMANDS = ("version", "settings", "settings -o json", "--help")

each_command = pytest.mark.parametrize("command", COMMANDS)


def shell(script: str, home: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script in a shell that fails as its first program does."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        env={"HEADWAY_HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.regression
@each_command
def test_a_full_stdout_is_one_message(command: str, tmp_path: Path) -> None:
    done = shell(f"{HEADWAY} {command} > /dev/full", tmp_path)

    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: What the command printed cannot be written: No space left")


@pytest.mark.regression
@each_command
@pytest.mark.parametrize("closing", [">&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_a_closed_stdout_is_nothing(command: str, closing: str, tmp_path: Path) -> None:
    done = shell(f"{HEADWAY} {command} {closing}", tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.regression
@each_command
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_goes_away_is_nothing(command: str, reader: str, tmp_path: Path) -> None:
    done = shell(f"{HEADWAY} {command} | {reader}", tmp_path)

    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_a_file_takes_all_that_is_printed(tmp_path: Path) -> None:
    whole = shell(f"{HEADWAY} settings -o json", tmp_path).stdout
    shell(f"{HEADWAY} settings -o json > {tmp_path}/found", tmp_path)

    assert len(whole) > 2**13
    assert (tmp_path / "found").read_text() == whole
