"""`headway tasks test`: run one task in this process."""

from pathlib import Path
from typing import Annotated

import typer


def try_task(  # noqa: PLR0913, PLR0917 - each is an option
    file: Annotated[Path, typer.Argument(help="The DAG file.")],
    dag_id: Annotated[str, typer.Argument(help="The id of the DAG in the file.")],
    task_id: Annotated[str, typer.Argument(help="The id of the task.")],
    date: Annotated[str | None, typer.Argument(help="The day for which the task runs.")] = None,
    map_index: Annotated[int, typer.Option(min=-1, help="The instance of a mapped task.")] = -1,
    conf: Annotated[str | None, typer.Option(help="Configuration of the run, as JSON.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="One param of the run; JSON, or else text."),
    ] = None,
    xcom: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK=JSON",
            help="What another task returned; TASK:KEY=JSON for what it left under a key.",
        ),
    ] = None,
) -> None:
    """Run one task once in this process, without a database or services.

    Other tasks do not run: give what the task needs of them with --xcom.
    """
    from headway.cli.input.session import now
    from headway.cli.input.values import parse_conf
    from headway.cli.local import task_test
    from headway.runtime.processes import garbage

    garbage.as_usual()
    wanted = task_test.TaskWanted(
        dag_id=dag_id,
        task_id=task_id,
        date=date,
        map_index=map_index,
        conf={**parse_conf(conf), **task_test.parse_params(param or [])},
        xcoms=task_test.parse_xcoms(xcom or []),
    )
    raise typer.Exit(task_test.run_task(file, wanted, now()))
