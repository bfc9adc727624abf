"""Why an interval of a schedule has no run of its own."""

from collections.abc import Mapping
from typing import Final

from headway.decide.explain.explanation import Explanation, Reason
from headway.decide.explain.snapshot import DagRow, SkippedRow
from headway.decide.explain.wording import command, instant
from headway.domain.dag.catchup import SkipReason
from headway.domain.interval import DataInterval

_WHY: Final[Mapping[SkipReason, str]] = {
    SkipReason.CATCHUP: "they fell due while nobody scheduled {dag}, and its catchup leaves them "
    "out",
    SkipReason.WINDOW: "they fell due while nobody scheduled {dag}, longer ago than its "
    "catchup_window",
    SkipReason.OVERLAP: "they fell due while another run had not ended, and the overlap of {dag} "
    "does not let them wait",
    SkipReason.BACKFILL: "the backfill was cancelled that was to run them, and the schedule of "
    "{dag} had skipped them by then",
    SkipReason.CONFLICT: "another run, of a backfill or of a former schedule of {dag}, is about a "
    "part of that time",
}


def explain_skipped(dag: DagRow, it: SkippedRow, asked: DataInterval | None) -> Explanation:
    """Say why there is no such run, and never will be by itself.

    `asked` is the interval that was asked for, None if the schedule has no such interval now, or
    no file has the DAG.
    """
    if it.run_id is not None:
        return Explanation(
            reason=Reason.INTERVAL_SKIPPED,
            sentence=f"There is no such run: the run {it.run_id} covers its interval with others "
            "that were missed, as the catchup of the DAG is rollup.",
            change="Nothing is to be done; to see that run: "
            f"{command('tasks', 'list', dag.dag_id, it.run_id)}.",
        )
    first, last = instant(it.first_start), instant(it.end)
    return Explanation(
        reason=Reason.INTERVAL_SKIPPED,
        sentence=f"There is no such run: the intervals from {first} to {last} were left out at "
        f"{instant(it.at)}, as {_WHY[it.reason].format(dag=dag.dag_id)}.",
        change=_change(dag, it, asked),
    )


def _change(dag: DagRow, it: SkippedRow, asked: DataInterval | None) -> str:
    if asked is not None and it.reason is not SkipReason.CONFLICT:
        date = ("--date", asked.start.isoformat(), "--no-wait")
        return f"{command('backfill', 'create', dag.dag_id, *date)} runs that interval."
    if not dag.active:
        return (
            f"No file defines {dag.dag_id} any more: put {dag.relative_path} back, and ask again."
        )
    start, end = (it.first_start, it.end) if asked is None else (asked.start, asked.end)
    interval = ("--interval", instant(start), instant(end))
    return f"{command('dags', 'trigger', dag.dag_id, *interval)} runs that time."
