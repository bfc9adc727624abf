"""`headway status`: how an installation stands as a whole, and what in it is stuck."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, show
from headway.runtime.logs.escaping import visible

if TYPE_CHECKING:
    from headway.decide.explain.status import Status

SERVICES: Final = ("kind", "alive", "silent", "draining", "slots", "busy", "heartbeat")
POOLS: Final = ("name", "slots", "running", "queued", "free", "waiting", "longest")
QUEUES: Final = ("name", "slots", "queued", "longest")
LAG: Final = ("runs_running", "runs_queued", "dags_due", "due_longest", "callback_longest")
SECONDS: Final = frozenset({"heartbeat", "longest", "due_longest", "callback_longest"})

Patience = Annotated[
    float, typer.Option(min=0, help="Seconds that a task or a run may wait before it is stuck.")
]


def status(patience: Patience = 300.0, output: Output = Format.TABLE) -> None:
    """Show services with their heartbeats, pools, queues and lags, and what is stuck.

    The exit status is 1 if something is stuck. The schedulers are taken to have the settings that
    HEADWAY_SCHEDULER_… give here.
    """
    from headway.actions.installation.status import look
    from headway.cli.input.session import transaction
    from headway.runtime.settings.configuration import read
    from headway.runtime.settings.scheduler import SchedulerSettings

    settings = read(SchedulerSettings)
    with transaction() as conn:
        found = as_row(look(conn, settings), patience)
    if output is Format.JSON:
        show([found], (), output)
    else:
        show_tables(found)
    if found["stuck"]:
        raise typer.Exit(ExitStatus.FAILED)


def as_row(found: "Status", patience: float) -> dict[str, Any]:
    """Return all that is known, for a program; durations are in seconds."""
    from dataclasses import asdict

    from headway.db.reads.status import MOST
    from headway.decide.explain.status import problems, services

    pools = []
    for pool in found.pools:
        mine = [it for it in found.waiting if it.pool == pool.name]
        waits = [it.longest for it in mine if it.longest is not None]
        waiting = sum(it.waiting for it in mine)
        more = {"paused": sum(it.paused for it in mine), "longest": max(waits, default=None)}
        pools.append({**asdict(pool), "free": pool.free, "waiting": waiting, **more})
    return {
        "services": [asdict(it) for it in services(found)],
        "processes": [asdict(it) for it in found.processes],
        "lag": asdict(found.backlog),
        "pools": pools,
        "queues": [asdict(it) for it in found.queues],
        "stuck": [asdict(it) for it in problems(found, patience)],
        "counted_to": MOST,
    }


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
    for it in stuck:
        print(f"- {visible(it['sentence'])}\n  {visible(it['remedy'])}")


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its durations in words."""
    from headway.decide.explain.wording import lasting

    return {
        name: lasting(value) if name in SECONDS and value is not None else value
        for name, value in row.items()
    }
