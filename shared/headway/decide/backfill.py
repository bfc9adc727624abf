"""Which runs a backfill consists of."""

from datetime import datetime

from headway.domain.errors import DagError
from headway.domain.spec import DagSpec
from headway.timetables import registry
from headway.timetables.base import DagRunInfo, iter_dagrun_infos_between

MOST_RUNS = 10_000
"""Runs of one backfill beyond which it is refused."""


def plan_backfill(
    dag: DagSpec, from_date: datetime, to_date: datetime, now: datetime
) -> list[DagRunInfo]:
    """Return the runs whose data interval starts between the two dates, both included.

    DagError when the DAG has no schedule, or an interval is not over yet.
    """
    if to_date < from_date:
        raise DagError(f"A backfill cannot end ({to_date:%F}) before it begins ({from_date:%F}).")
    timetable = registry.decode(dag.timetable)
    infos: list[DagRunInfo] = []
    for info in iter_dagrun_infos_between(timetable, from_date, to_date, now):
        if info.run_after > now:
            raise DagError(
                f"The interval that starts on {info.data_interval.start:%F %R} is not over before "
                f"{info.run_after:%F %R %Z}; end the backfill earlier."
            )
        infos.append(info)
        if len(infos) > MOST_RUNS:
            raise DagError(f"That is more than {MOST_RUNS:,} runs; backfill in smaller parts.")
    if not infos:
        raise DagError(
            f"DAG {dag.dag_id} has no data interval that starts between {from_date:%F} and "
            f"{to_date:%F}; `headway dags show {dag.dag_id}` tells its schedule."
        )
    return infos
