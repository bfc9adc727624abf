"""`headway import-check`: which DAG files of a folder load, and what is wrong with the others."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.screen.output import Format, Output


def import_check(
    folder: Annotated[
        Path, typer.Argument(help="The folder of DAG files.", exists=True, file_okay=False)
    ],
    variables: Annotated[
        Path | None, typer.Option(help="A file that `airflow variables export` has written.")
    ] = None,
    connections: Annotated[
        Path | None, typer.Option(help="A file that `airflow connections export` has written.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Read every DAG file of a folder as a parser does, and say what becomes of it.

    Nothing is stored. The exit status is 5 if a file is refused. Files that read variables or
    connections while they are parsed get those that are given, those of the environment, or
    values that stand in for them.
    """
    from headway.cli.local.given import exported_secrets
    from headway.cli.screen.errors import ExitStatus
    from headway.runtime.logs.escaping import say
    from headway.runtime.settings import configuration
    from headway.runtime.settings.parser import ParserSettings

    found = []
    settings, source = configuration.read(ParserSettings), exported_secrets(connections, variables)
    for checked in _checker().check_folder(folder.absolute(), settings, source):
        found.append(checked)
        if output is Format.TABLE:
            say("\n".join(_lines(checked)))
    summary = _summary(found)
    if output is Format.JSON:
        files = [{**asdict(checked), "verdict": _verdict(checked)} for checked in found]
        print(json.dumps({"summary": summary, "files": files}, indent=2))
    else:
        say(", ".join(f"{number} {name}" for name, number in summary.items()))
    if summary["refused"]:
        raise typer.Exit(ExitStatus.REFUSED)


def _verdict(checked: Any) -> str:
    if checked.error is not None:
        return "refused"
    return "warned" if checked.warnings or checked.differences else "loads"


def _summary(found: Sequence[Any]) -> dict[str, int]:
    """Return how many files there are, load, load with a warning, and do not load."""
    counted = Counter(map(_verdict, found))
    refused, warned = counted["refused"], counted["warned"]
    return {
        "files": len(found),
        "loaded": len(found) - refused,
        "warned": warned,
        "refused": refused,
    }


def _lines(checked: Any) -> Iterator[str]:
    """Yield what a person is told of a file."""
    if checked.error is None:
        yield f"{checked.path}: loads ({', '.join(checked.dag_ids) or 'no DAG'})"
    else:
        from headway.domain.gist import gist

        place = "" if checked.line is None else f", line {checked.line}"
        yield f"{checked.path}{place}: refused: {gist(checked.error)}"
    yield from (f"  ignored: {warning}" for warning in checked.warnings)
    yield from (f"  differs: {difference}" for difference in checked.differences)


def _checker() -> Any:
    """Return the parser's module for this; parsers are reached by their entry point alone."""
    from importlib import import_module
    from importlib.metadata import entry_points

    from headway.cli.input.installed import GROUP
    from headway.domain.errors import NotFoundError

    found = tuple(entry_points(group=GROUP, name="parser"))
    if not found:
        raise NotFoundError("The parser is not installed; install the whole of headway.")
    return import_module(f"{found[0].module.rpartition('.')[0]}.import_check")
