"""What may be said of a backfill that is to be created."""

from typing import Annotated

import typer

from headway.domain.backfill import Direction, Reprocess

Number = Annotated[int, typer.Argument(min=1, max=2**63 - 1)]
From = Annotated[str | None, typer.Option("--from", help="The first day, such as 2013-01-01.")]
To = Annotated[str | None, typer.Option("--to", help="The last day. It is included.")]
Dates = Annotated[
    list[str] | None,
    typer.Option("--date", help="A single day, or the start of an interval. May be repeated."),
]
Conf = Annotated[str | None, typer.Option("--conf", help="Configuration of the runs, as JSON.")]
Again = Annotated[Reprocess, typer.Option("--reprocess", help="Which ended runs run again.")]
Order = Annotated[
    Direction, typer.Option("--order", help="Whether the oldest or the newest runs come first.")
]
Rollup = Annotated[
    int,
    typer.Option("--rollup", min=1, max=10_000, help="Number of intervals that one run covers."),
]
Most = Annotated[
    int | None,
    typer.Option(
        "--max-active-runs",
        min=1,
        max=10_000,
        help="Runs at a time; default: the DAG's max_active_runs.",
    ),
]
Weight = Annotated[
    int,
    typer.Option(
        "--weight",
        min=1,
        max=100,
        help="Percentage of each pool's slots that the backfill may use.",
    ),
]
IdleOnly = Annotated[
    bool, typer.Option("--idle-only", help="Use a pool only while no other task waits for it.")
]
OfWhich = Annotated[
    str, typer.Option("--version", help="The version of runs that run again: own or latest.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what happens to each date, and create nothing.")
]
Wait = Annotated[bool, typer.Option(help="Show the progress until all runs end.")]
