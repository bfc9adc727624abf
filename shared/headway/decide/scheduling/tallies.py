"""How the upstream of a task stands: the sums that its trigger rule is asked about."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from headway.decide.scheduling.run_counts import Counts
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import TaskState

FAILED: Final = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})

GONE: Final[Counts] = {TaskState.REMOVED: 1}
"""How an upstream task stands that the run does not have."""


def tally_of(upstream: Iterable[tuple[str, Counts]], setups: Collection[str]) -> Tally:
    """Return the sums over these upstream tasks, of which some are `setups`."""
    ended: dict[TaskState, int] = {}
    prepared: dict[TaskState, int] = {}
    for task_id, counts in upstream:
        for state, number in counts.items():
            ended[state] = ended.get(state, 0) + number
            if task_id in setups:
                prepared[state] = prepared.get(state, 0) + number
    return Tally(
        total=sum(ended.values()),
        success=ended.get(TaskState.SUCCESS, 0),
        failed=sum(ended.get(state, 0) for state in FAILED),
        upstream_failed=ended.get(TaskState.UPSTREAM_FAILED, 0),
        skipped=ended.get(TaskState.SKIPPED, 0),
        removed=ended.get(TaskState.REMOVED, 0),
        setups=sum(prepared.values()),
        setups_succeeded=prepared.get(TaskState.SUCCESS, 0),
        setups_skipped=prepared.get(TaskState.SKIPPED, 0),
    )


def added(before: Tally, ended: Mapping[TaskState, int]) -> Tally:
    """Return the sums when so many more upstream instances have ended."""
    return Tally(
        total=before.total,
        success=before.success + ended.get(TaskState.SUCCESS, 0),
        failed=before.failed + sum(ended.get(state, 0) for state in FAILED),
        upstream_failed=before.upstream_failed + ended.get(TaskState.UPSTREAM_FAILED, 0),
        skipped=before.skipped + ended.get(TaskState.SKIPPED, 0),
        removed=before.removed + ended.get(TaskState.REMOVED, 0),
    )
