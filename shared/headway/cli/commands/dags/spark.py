"""`headway spark`: what tasks take of Spark."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.cli.screen.output import Format, Output, as_row
from headway.cli.screen.spark_figures import span
from headway.domain.sizes import in_bytes

if TYPE_CHECKING:
    from headway.db.reads.spark_views import SparkCost

app = typer.Typer(help="Spark: show the resources that tasks used.", no_args_is_help=True)

COLUMNS: Final = (
    *("dag_id", "run_id", "attempts", "unknown", "tasks", "executor_time", "cpu_time", "read"),
    *("rows_read", "written", "rows_written", "shuffle_read", "shuffle_written", "spilled"),
    *("peak_memory", "skew"),
)


@app.callback()
def spark() -> None:
    """Keep `cost` a subcommand, though it is the only one."""


@app.command()
def cost(
    dag_id: Annotated[str | None, typer.Argument(help="Only this DAG, run by run.")] = None,
    run_id: Annotated[str | None, typer.Argument(help="Only this run of the DAG.")] = None,
    by_run: Annotated[
        bool, typer.Option("--by-run", help="Show sums of runs, not of DAGs.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Show the Spark resources that ended attempts used: the sums of each DAG, or of each run.

    Attempts without figures count as unknown: attempts on servers elsewhere, on servers that were
    killed, in cluster mode, and with a driver of their own that was killed or whose web interface
    could not be reached.
    """
    from headway.actions.lookup import current_dag, run_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import spark_views

    with transaction() as conn:
        if run_id is not None and dag_id is not None:
            run_of(conn, dag_id, run_id)
        elif dag_id is not None:
            current_dag(conn, dag_id)
        rows = spark_views.cost(conn, dag_id, run_id, by_run=by_run or dag_id is not None)
    if output is Format.JSON:
        show(rows, (), output)
    else:
        show(map(_cells, rows), COLUMNS, output)


def _cells(cost: "SparkCost") -> dict[str, Any]:
    return {
        **as_row(cost),
        "executor_time": span(cost.executor_run_ms),
        "cpu_time": span(cost.executor_cpu_ms),
        "read": in_bytes(cost.bytes_read),
        "written": in_bytes(cost.bytes_written),
        "shuffle_read": in_bytes(cost.shuffle_read_bytes),
        "shuffle_written": in_bytes(cost.shuffle_write_bytes),
        "spilled": in_bytes(cost.spilled_bytes),
        "peak_memory": in_bytes(cost.peak_memory_bytes),
    }
