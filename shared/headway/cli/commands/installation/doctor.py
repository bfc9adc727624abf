"""`headway doctor`: what is wrong with this installation, and what to do about it."""

from typing import TYPE_CHECKING, Final

import typer

from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headway.cli.input.session import Database
    from headway.doctor.finding import Finding

COLUMNS: Final = ("check", "ok", "found", "wanted", "remedy")


def doctor(output: Output = Format.TABLE) -> None:
    """Examine the database, the clock, the sandbox, Spark, the disk, and modes of secret files.

    Each row says what was found, what is wanted, and which command or setting corrects it.
    The exit status is 1 if a row is not ok.
    """
    from headway.cli.screen.output import show
    from headway.cli.screen.terminal import show_lines
    from headway.doctor.examine import examine
    from headway.doctor.finding import Examined
    from headway.runtime.daemon.clock import SystemClock
    from headway.runtime.settings import configuration

    subject = Examined(configuration.environment(), configuration.home(), SystemClock())
    findings = list(examine(subject, _connect))
    if output is Format.JSON:
        show(findings, COLUMNS, output)
    else:
        show_lines(line for finding in findings for line in _lines(finding))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(ExitStatus.FAILED)


def _connect() -> "Database":
    from headway.cli.input.session import database_url
    from headway.db.core import engine as engines

    return engines.connect(database_url(), name="headway doctor", pool_size=1)


def _lines(finding: "Finding") -> "Iterator[tuple[str, str]]":
    """Yield a finding as lines, each with its style: what to do only where something is wrong."""
    mark, style = ("ok  ", "green") if finding.ok else ("WRONG", "bold red")
    yield f"{mark:<6}{finding.check}: {finding.found}", style
    if not finding.ok:
        yield f"      wanted: {finding.wanted}", ""
        yield f"      remedy: {finding.remedy}", ""
