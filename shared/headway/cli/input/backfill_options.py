"""What may be said of a backfill that is to be created."""

from typing import Annotated

import typer

from headway.domain.backfill import Direction, Reprocess

Number = Annotated[int, typer.Argument(min=1, max=2**63 - 1)]
From = Annotated[str | None, typer.Option("--from", help="The first day, such as 2013-01-01.")]
To = Annotated[str | None, typer.Option("--to", help="The last day, included with all its hours.")]
Dates = Annotated[
    list[str] | None,
    typer.Option("--date", help="A single day, or start of an interval; may be repeated."),
]
Conf = Annotated[str | None, typer.Option("--conf", help="Configuration of the runs, as JSON.")]
Again = Annotated[
    Reprocess, typer.Option("--reprocess", help="Which runs that have ended run again.")
]
Order = Annotated[Direction, typer.Option("--order", help="The oldest first, or the newest.")]
Rollup = Annotated[
    int, typer.Option("--rollup", min=1, max=10_000, help="Intervals that a run takes together.")
]
Most = Annotated[
    int | None,
    typer.Option(
        "--max-active-runs", min=1, max=10_000, help="Runs at a time; default: the DAG's."
    ),
]
Weight = Annotated[
    int,
    typer.Option("--weight", min=1, max=100, help="Percentage of each pool's slots it may take."),
]
IdleOnly = Annotated[
    bool, typer.Option("--idle-only", help="Use a pool only while nothing else waits for it.")
]
OfWhich = Annotated[
    str, typer.Option("--version", help="With which version runs run again: their own, or latest.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what becomes of each date, and do nothing.")
]
Wait = Annotated[bool, typer.Option(help="Show the progress until all runs end.")]
