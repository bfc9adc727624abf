"""The exit status of a command says what kind of end it was, and docs/commands.md tells each."""

import re
from pathlib import Path

import pytest

from headway.cli.screen.errors import ExitStatus, report
from headway.domain import errors
from headway.domain.hints import Action, act, hint

PAGE = Path(__file__).parents[4] / "docs" / "commands.md"


def test_a_command_ends_with_the_status_of_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise errors.NotFoundError("There is no DAG 'a'.")

    with pytest.raises(SystemExit) as ended:
        report(command)

    assert ended.value.code == ExitStatus.NOT_FOUND
    assert capsys.readouterr().err == "Error: There is no DAG 'a'.\n"


def test_a_command_tells_the_hint_of_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        show = hint(act(Action.SHOW_DAG, dag_id="a"), " shows its tasks.")
        raise errors.TaskNotFoundError("DAG a has no task 'b'.", hint=show)

    with pytest.raises(SystemExit):
        report(command)

    told = "Error: DAG a has no task 'b'. `headway dags show a` shows its tasks.\n"
    assert capsys.readouterr().err == told


def test_the_page_tells_every_status_and_no_other() -> None:
    told = re.findall(r"^\| (\d+) \| (\S.*) \|$", PAGE.read_text(), re.MULTILINE)

    assert [int(number) for number, _ in told] == sorted(map(int, ExitStatus))
