"""`headway status`: how an installation stands as a whole, and what in it is stuck."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, as_row, show
from headway.runtime.logs.escaping import visible

SERVICES: Final = ("kind", "alive", "silent", "draining", "slots", "busy", "heartbeat")
POOLS: Final = ("name", "slots", "running", "queued", "free", "waiting", "longest")
QUEUES: Final = ("name", "slots", "queued", "longest")
LAG: Final = ("runs_running", "runs_queued", "dags_due", "due_longest", "callback_longest")
SECONDS: Final = frozenset({"heartbeat", "longest", "due_longest", "callback_longest"})

Patience = Annotated[
    float,
    typer.Option(
        min=0, help="Seconds for which a task or a run may wait before it counts as stuck."
    ),
]


def status(patience: Patience = 300.0, output: Output = Format.TABLE) -> None:
    """Show services with their heartbeats, pools, queues and lags, and what is stuck.

    The exit status is 1 if something is stuck. The command assumes that the schedulers have the
    settings that HEADWAY_SCHEDULER_… have here.
    """
    from headway.actions.installation.status import report
    from headway.cli.input.session import transaction
    from headway.runtime.settings.configuration import read
    from headway.runtime.settings.scheduler import SchedulerSettings

    settings = read(SchedulerSettings)
    with transaction() as conn:
        found = as_row(report(conn, settings, patience))
    if output is Format.JSON:
        show([found], (), output)
    else:
        show_tables(found)
    if found["stuck"]:
        raise typer.Exit(ExitStatus.FAILED)


def show_tables(found: Mapping[str, Any]) -> None:
    """Print it for a person, what is stuck last."""
    for heading, rows, columns in (
        ("Services", found["services"], SERVICES),
        ("Lag", [found["lag"]], LAG),
        ("Pools", found["pools"], POOLS),
        ("Queues", found["queues"], QUEUES),
    ):
        typer.echo(typer.style(heading, bold=True))
        show(map(_readable, rows), columns, Format.TABLE)
        print()
    stuck: Sequence[Mapping[str, Any]] = found["stuck"]
    typer.echo(typer.style("Stuck" if stuck else "Nothing is stuck.", bold=True))
    for problem in stuck:
        print(f"- {visible(problem['sentence'])}\n  {visible(problem['remedy'])}")


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its durations in words."""
    from headway.decide.explain.wording import lasting

    return {
        name: lasting(value) if name in SECONDS and value is not None else value
        for name, value in row.items()
    }
