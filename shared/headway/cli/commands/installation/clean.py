"""`headway db clean`: remove what ended long ago."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headway.cli.input.values import Age, Reason, Yes
from headway.cli.screen.output import Format, Output
from headway.domain.retention import RetainedKind

if TYPE_CHECKING:
    from headway.actions.retention.removal import RemovalRequest, RemovalTally
    from headway.cli.input.session import Database

COLUMNS: Final = ("kind", "removed", "task_instances", "kept", "from", "to")
PLANNED: Final = ("kind", "would_remove", "task_instances", "kept", "from", "to")

_WHY: Final = {
    "unfinished": "unfinished",
    "latest": "latest of the DAG",
    "past": "before an unfinished run",
    "backfill": "of an unfinished backfill",
    "external": "may run on a cluster",
    "referenced": "referred to",
}


Kinds = Annotated[
    list[RetainedKind] | None,
    typer.Option("--kind", help="What to remove. May be repeated; default: all kinds."),
]
OfDag = Annotated[
    str | None, typer.Option("--dag", help="Only rows of this DAG. Processes belong to no DAG.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--archive",
        help="First write the rows to Parquet files at this address: file:///folder, s3://bucket.",
    ),
]


def clean(  # noqa: PLR0913, PLR0917 - each is an option
    older_than: Age,
    kind: Kinds = None,
    dag: OfDag = None,
    dry_run: DryRun = False,
    archive: Address = None,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Remove runs, events, callbacks and processes that ended long ago.

    Rows that are still needed stay: the latest run of each DAG, unfinished runs, runs that an
    unfinished run or backfill needs, runs that may still run on a cluster, and processes whose
    attempts are kept. Run an interrupted command again to continue.
    """
    from headway.actions.retention.removal import RemovalRequest, check
    from headway.cli.input.acting import ask
    from headway.cli.input.session import connected
    from headway.cli.screen.output import show

    kinds = kind or [
        each for each in RetainedKind if dag is None or each is not RetainedKind.PROCESSES
    ]
    requests = [RemovalRequest(each, older_than, dag) for each in dict.fromkeys(kinds)]
    for request in requests:
        check(request)
    columns = PLANNED if dry_run else COLUMNS
    with connected() as engine:
        _check_dag(engine, dag)
        found = _look(engine, requests) if dry_run or not yes else []
        if not dry_run:
            if found:
                ask(f"This would remove {_told(requests, found)}.")
            found = _remove(engine, requests, reason, archive)
    show(_rows(requests, found, columns), columns, output)


def _check_dag(engine: "Database", dag_id: str | None) -> None:
    from headway.actions.lookup import current_dag

    if dag_id is not None:
        with engine.connect() as conn:
            current_dag(conn, dag_id)


def _look(engine: "Database", requests: "Sequence[RemovalRequest]") -> "list[RemovalTally]":
    from headway.actions.retention.removal import look

    with engine.connect() as conn:
        return [look(conn, request) for request in requests]


def _remove(
    engine: "Database",
    requests: "Sequence[RemovalRequest]",
    reason: str | None,
    archive: str | None,
) -> "list[RemovalTally]":
    from headway.actions.retention.cleaning import Cleaning
    from headway.cli.screen.changes import author

    its = None
    if archive is not None:
        from headway.actions.retention.archive import Archive

        its = Archive.at(archive)
    cleaning = Cleaning(engine, author(reason), its)
    if left := cleaning.recover().left:
        typer.echo(
            f"Staged portions older than a day of which this database knows nothing: {left}, below "
            f"{archive}. They stay, as another database may have removed their rows. Give each "
            "database an address of its own.",
            err=True,
        )
    return [cleaning.remove(request) for request in requests]


def _rows(
    requests: "Sequence[RemovalRequest]", tallies: "Sequence[RemovalTally]", columns: Sequence[str]
) -> list[dict[str, object]]:
    return [
        {
            "kind": str(request.kind),
            columns[1]: tally.rows,
            "task_instances": tally.task_instances if request.kind is RetainedKind.RUNS else None,
            "kept": {_WHY[keep_reason]: count for keep_reason, count in sorted(tally.kept.items())},
            "from": tally.since,
            "to": tally.until,
        }
        for request, tally in zip(requests, tallies, strict=True)
    ]


def _told(requests: "Sequence[RemovalRequest]", tallies: "Sequence[RemovalTally]") -> str:
    return ", ".join(
        f"{tally.rows:,} {request.kind}"
        + (
            f" ({tally.task_instances:,} task instances)"
            if request.kind is RetainedKind.RUNS
            else ""
        )
        for request, tally in zip(requests, tallies, strict=True)
    )
