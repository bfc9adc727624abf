"""`headway runs`: DAG runs as they stand."""

from typing import Annotated

import typer

from headway.cli.output import Format, Output
from headway.domain.states import RunState

app = typer.Typer(help="DAG runs: list and show them.", no_args_is_help=True)

COLUMNS = ("dag_id", "run_id", "run_type", "state", "interval_start", "started_at", "ended_at")
TASK_COLUMNS = ("task_id", "map_index", "state", "attempt", "started_at", "ended_at")


@app.command("list")
def list_runs(
    dag_id: Annotated[str | None, typer.Argument(help="Only the runs of this DAG.")] = None,
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List DAG runs, the newest first."""
    from headway.actions.lookup import current_dag
    from headway.cli.output import show
    from headway.cli.session import transaction
    from headway.db import views

    with transaction() as conn:
        rows = views.runs(conn, dag_id, state=state and str(state), limit=limit)
        if not rows and dag_id is not None:
            current_dag(conn, dag_id)
    show(rows, COLUMNS, output)


@app.command()
def show(dag_id: str, run_id: str, output: Output = Format.TABLE) -> None:
    """Show one run and its task instances."""
    from headway.actions.lookup import run_of
    from headway.cli import output as rendering
    from headway.cli.session import transaction
    from headway.db import views

    with transaction() as conn:
        run = run_of(conn, dag_id, run_id)
        tasks = views.tasks(conn, dag_id, run_id)
    if output is Format.JSON:
        rendering.show([{**run, "tasks": [dict(task) for task in tasks]}], (), output)
        return
    rendering.show([run], COLUMNS, output)
    print()
    rendering.show(tasks, TASK_COLUMNS, output)
