"""Which runs a DAG has next, for those who ask."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain

from headway.decide.due import due
from headway.decide.due_plan import ANY, ScheduleRules, ScheduleStanding
from headway.decide.taken import BackfilledIntervals
from headway.domain.catchup import Overlap
from headway.timetables.base import DagRunInfo, Timetable
from headway.timetables.sequence import known, runs_on


def expected(
    timetable: Timetable, dag: ScheduleStanding, rules: ScheduleRules, now: datetime, most: int
) -> Iterator[DagRunInfo]:
    """Return the runs of a schedule that are due at `now`, `most` at most, and those to come.

    As if each found room at once, and none met another.
    """
    alone = replace(dag, unfinished=0, most=ANY)
    found = due(timetable, alone, replace(rules, overlap=Overlap.QUEUE), now, most)
    to_come = runs_on(timetable, found.following, rules.bounds(catchup=True), now)
    ahead = BackfilledIntervals(dag.taken, partitions=timetable.partitions)
    free = (it for it in to_come if not ahead.has(it) and not ahead.blocks(it))
    return known(timetable, chain(found.runs, free))
