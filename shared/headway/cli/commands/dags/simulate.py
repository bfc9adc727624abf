"""`headway simulate`: what would be queued now under other limits."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.cli.screen.output import Format, Output

if TYPE_CHECKING:
    from headway.actions.explain.simulate import Simulated
    from headway.decide.explain.ready import WaitingTask
    from headway.decide.explain.simulate import Simulation
    from headway.decide.scheduling.admit import Budget

COLUMNS: Final = ("change", "dag_id", "run_id", "task_id", "map_index", "pool", "slots", "queue")
REFUSALS: Final = ("limit", "of", "refused_now", "refused_then")

Given = Annotated[
    list[str] | None, typer.Option("--pool", metavar="NAME=SLOTS", help="Slots of a pool.")
]


def simulate(
    pool: Given = None,
    dag: Annotated[
        list[str] | None,
        typer.Option("--dag", metavar="DAG=TASKS", help="max_active_tasks of a DAG."),
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="NAME=SLOTS", help="Slots of the workers of a queue."),
    ] = None,
    parallelism: Annotated[
        int | None, typer.Option(min=0, help="Parallelism of every scheduler.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what would be queued now under other limits, compared with the limits in force.

    Options may be repeated. Nothing is changed.
    """
    from headway.actions.explain.simulate import simulate_queue
    from headway.cli.input.session import transaction
    from headway.db.core.server import now
    from headway.decide.explain.simulate import Changes
    from headway.runtime.settings.configuration import read
    from headway.runtime.settings.scheduler import SchedulerSettings

    changes = Changes(
        _numbers("--pool", pool), _numbers("--dag", dag), _numbers("--queue", queue), parallelism
    )
    settings = read(SchedulerSettings)
    with transaction() as conn:
        found = simulate_queue(conn, changes, settings, now(conn))
    _show(found, output)


def _numbers(option: str, given: list[str] | None) -> dict[str, int]:
    found = {}
    for each in given or ():
        name, equals, number = each.rpartition("=")
        if not (name and equals and number.isdecimal()):
            raise typer.BadParameter(f"{each!r} is not like name=4.", param_hint=f"'{option}'")
        found[name] = int(number)
    return found


def _show(found: "Simulated", output: Format) -> None:
    from headway.cli.screen.output import show

    simulation = found.simulation
    tasks = [_row(each, "queued") for each in simulation.gained()]
    tasks += [_row(each, "not queued") for each in simulation.lost()]
    refusals = [
        _refusal(simulation, budget, *numbers) for budget, numbers in simulation.refusals().items()
    ]
    if output is Format.JSON:
        figures = {
            "waiting": len(simulation.waiting),
            "further": found.further,
            "paused": found.paused,
            "queued_now": len(simulation.now.task_ids),
            "queued_then": len(simulation.then.task_ids),
            "scheduler_assumed": found.assumed,
        }
        show([{**figures, "tasks": tasks, "refusals": refusals}], (), output)
        return
    print(_summary(found, simulation))
    if tasks:
        print()
        show(tasks, COLUMNS, output)
    if refusals:
        print()
        show(refusals, REFUSALS, output)


def _summary(found: "Simulated", simulation: "Simulation") -> str:
    from headway.decide.explain.wording import counted

    waiting = counted(len(simulation.waiting), "scheduled task")
    queued = len(simulation.now.task_ids), len(simulation.then.task_ids)
    parts = [f"Of {waiting}, {queued[0]:,} would be queued now, {queued[1]:,} under these limits."]
    if found.paused:
        parts.append(f"{found.paused:,} more, of paused DAGs, are not among them.")
    if found.further:
        parts.append(f"{found.further:,} more, far behind these, were not looked at.")
    if found.assumed:
        parts.append("No scheduler is alive; this is what one would do.")
    return "\n".join(parts)


def _row(each: "WaitingTask", change: str) -> dict[str, Any]:
    task = each.task
    return {
        "change": change,
        "dag_id": task.dag_id,
        "run_id": each.run_id,
        "task_id": task.task_id,
        "map_index": each.map_index,
        "pool": task.pool,
        "slots": task.pool_slots,
        "queue": task.queue,
    }


def _refusal(simulation: "Simulation", budget: "Budget", now: int, then: int) -> dict[str, Any]:
    whose = simulation.owner(budget)
    return {
        "limit": str(budget.limit),
        "of": whose or "every scheduler",
        "refused_now": now,
        "refused_then": then,
    }
