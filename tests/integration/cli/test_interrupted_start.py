"""A Ctrl-C that comes before the command has begun."""

import signal
import subprocess
import sys

WHILE_IMPORTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["headway", "--help"]
from headway.cli.entry import main
main()
"""
WHILE_PREPARING = """
import sys
import typer.main

def interrupted(*_arguments):
    raise KeyboardInterrupt

typer.main.get_command = interrupted
sys.argv = ["headway", "--help"]
from headway.cli.entry import main
main()
"""


def run(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def test_one_while_modules_are_read_ends_it_without_a_word() -> None:
    ended = run(WHILE_IMPORTING)

    assert (ended.stdout, ended.stderr) == ("", "")
    assert ended.returncode == -signal.SIGINT


def test_one_before_the_command_begins_ends_it_without_a_word() -> None:
    ended = run(WHILE_PREPARING)

    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 130)


def test_who_has_ctrl_c_ignored_goes_on() -> None:
    before = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    ended = run(before + WHILE_IMPORTING)

    assert ended.returncode == 0
    assert "Usage: headway" in ended.stdout
