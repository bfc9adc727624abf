"""`headway dags next`: when a DAG runs."""

from itertools import islice
from typing import Annotated

import typer

from headway.cli.commands.dags.timetable import FEW, MOST, show_coming
from headway.cli.screen.output import Format, Output


def next_runs(
    dag_id: str,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="How many.")] = FEW,
    output: Output = Format.TABLE,
) -> None:
    """Show the runs that the schedule of a DAG has next, due or to come.

    It goes on from the last interval that was dealt with, and leaves out what catchup
    leaves out; a paused DAG's are shown as if it were unpaused now.
    """
    from headway.actions.lookup import current_dag
    from headway.cli.input.session import transaction
    from headway.db.core.server import now
    from headway.db.scheduling import dags
    from headway.decide.scheduling.due import expected
    from headway.decide.scheduling.due_plan import ScheduleRules
    from headway.timetables import registry
    from headway.timetables.preview import coming
    from headway.timetables.wall_clock.zones import find_zone

    with transaction() as conn:
        spec = current_dag(conn, dag_id).spec
        at = now(conn)
        schedule_state = dags.schedule_state(conn, dag_id, at)
    timetable, zone = registry.decode(spec.timetable), find_zone(spec.timezone)
    runs = expected(timetable, schedule_state, ScheduleRules.of(spec), at, limit)
    found = list(coming(islice(runs, limit), zone, schedule_state.last))
    show_coming(found, spec.timezone, output)
    if len(found) < limit and timetable.remarks:
        typer.echo(" ".join(timetable.remarks), err=True)
