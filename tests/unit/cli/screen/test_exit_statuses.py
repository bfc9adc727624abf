"""The exit status of a command says what kind of end it was, and docs/commands.md tells each."""

import re
from pathlib import Path

import pytest

from headway.cli.screen.errors import ExitStatus, report, status_of
from headway.domain import errors
from headway.domain.errors import HeadwayError

PAGE = Path(__file__).parents[4] / "docs" / "commands.md"

STATUSES = {
    "ArchiveError": 6,
    "ClusterError": 6,
    "ConflictError": 5,
    "DagError": 5,
    "DatabaseError": 6,
    "EmbeddedError": 1,
    "FencedError": 3,
    "HeadwayError": 1,
    "LogsError": 6,
    "NewerSchemaError": 6,
    "NotFoundError": 4,
    "OutputError": 1,
    "RefusalError": 5,
    "ReplicaError": 6,
    "SecretError": 1,
    "SecretRefusedError": 5,
    "SerializationError": 1,
    "SettingsError": 2,
    "TimetableError": 5,
}


def test_each_error_has_its_exit_status() -> None:
    kinds = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, HeadwayError)
    }

    assert {name: int(status_of(kind("no"))) for name, kind in kinds.items()} == STATUSES


def test_a_command_ends_with_the_status_of_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise errors.NotFoundError("There is no DAG 'a'.")

    with pytest.raises(SystemExit) as ended:
        report(command)

    assert ended.value.code == ExitStatus.NOT_FOUND
    assert capsys.readouterr().err == "Error: There is no DAG 'a'.\n"


def test_the_page_tells_every_status_and_no_other() -> None:
    told = re.findall(r"^\| (\d+) \| (\S.*) \|$", PAGE.read_text(), re.MULTILINE)

    assert [int(number) for number, _ in told] == sorted(map(int, ExitStatus))
