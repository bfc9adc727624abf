"""Trigger rules: whether a task may start, given how its upstream tasks stand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class TriggerRule(StrEnum):
    """The rules of Airflow, with the same names and the same meaning."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALL_DONE_SETUP_SUCCESS = "all_done_setup_success"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALWAYS = "always"


class Verdict(StrEnum):
    """What becomes of a task whose upstream tasks stand as they do."""

    WAIT = "wait"
    RUN = "run"
    SKIP = "skip"
    UPSTREAM_FAILED = "upstream_failed"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many upstream task instances there are, and how many ended in which way.

    `failed` counts failed and upstream_failed, of which the latter never ran; `removed`
    ones no longer matter.  The setup figures are about upstream setup tasks alone.
    """

    total: int
    success: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0
    removed: int = 0
    setups: int = 0
    setups_succeeded: int = 0
    setups_skipped: int = 0

    @property
    def done(self) -> int:
        """How many have ended, in whatever way."""
        return self.success + self.failed + self.skipped + self.removed

    @property
    def all_done(self) -> bool:
        """Whether none is still to end."""
        return self.done >= self.total


def judge(rule: TriggerRule, tally: Tally) -> Verdict:
    """Return what becomes of a task under `rule`; one without upstream tasks runs.

    Once it is not WAIT it stays what it is, in whatever order the others end.
    """
    if tally.total == tally.removed:
        return Verdict.RUN
    return _RULES[rule](tally)


def _all_success(tally: Tally) -> Verdict:
    if tally.failed:
        return Verdict.UPSTREAM_FAILED
    if tally.skipped and tally.all_done:  # not before: another one may still fail
        return Verdict.SKIP
    return _run_when(tally.all_done)


def _all_failed(tally: Tally) -> Verdict:
    if tally.success or tally.skipped:
        return Verdict.SKIP
    return _run_when(tally.all_done)


def _all_skipped(tally: Tally) -> Verdict:
    if tally.success or tally.failed:
        return Verdict.SKIP
    return _run_when(tally.all_done)


def _all_done(tally: Tally) -> Verdict:
    return _run_when(tally.all_done)


def _all_done_min_one_success(tally: Tally) -> Verdict:
    if tally.all_done and not tally.success:
        return Verdict.UPSTREAM_FAILED if tally.failed else Verdict.SKIP
    return _run_when(tally.all_done)


def _all_done_setup_success(tally: Tally) -> Verdict:
    if tally.all_done and tally.setups and not tally.setups_succeeded:
        skipped = tally.setups_skipped == tally.setups
        return Verdict.SKIP if skipped else Verdict.UPSTREAM_FAILED
    return _run_when(tally.all_done)


def _one_success(tally: Tally) -> Verdict:
    if tally.all_done and not tally.success:
        return Verdict.UPSTREAM_FAILED if tally.failed else Verdict.SKIP
    return _run_when(tally.success > 0)


def _one_failed(tally: Tally) -> Verdict:
    if tally.all_done and not tally.failed:
        return Verdict.SKIP
    return _run_when(tally.failed > 0)


def _one_done(tally: Tally) -> Verdict:
    ran = tally.success + tally.failed - tally.upstream_failed
    if tally.all_done and not ran:
        return Verdict.SKIP
    return _run_when(ran > 0)


def _none_failed(tally: Tally) -> Verdict:
    if tally.failed:
        return Verdict.UPSTREAM_FAILED
    return _run_when(tally.all_done)


def _none_failed_min_one_success(tally: Tally) -> Verdict:
    if tally.failed:
        return Verdict.UPSTREAM_FAILED
    if tally.all_done and not tally.success:
        return Verdict.SKIP
    return _run_when(tally.all_done)


def _none_skipped(tally: Tally) -> Verdict:
    if tally.skipped:
        return Verdict.SKIP
    return _run_when(tally.all_done)


def _always(_tally: Tally) -> Verdict:
    return Verdict.RUN


def _run_when(condition: bool) -> Verdict:
    return Verdict.RUN if condition else Verdict.WAIT


_RULES: Final[Mapping[TriggerRule, Callable[[Tally], Verdict]]] = {
    TriggerRule.ALL_SUCCESS: _all_success,
    TriggerRule.ALL_FAILED: _all_failed,
    TriggerRule.ALL_DONE: _all_done,
    TriggerRule.ALL_DONE_MIN_ONE_SUCCESS: _all_done_min_one_success,
    TriggerRule.ALL_DONE_SETUP_SUCCESS: _all_done_setup_success,
    TriggerRule.ALL_SKIPPED: _all_skipped,
    TriggerRule.ONE_SUCCESS: _one_success,
    TriggerRule.ONE_FAILED: _one_failed,
    TriggerRule.ONE_DONE: _one_done,
    TriggerRule.NONE_FAILED: _none_failed,
    TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS: _none_failed_min_one_success,
    TriggerRule.NONE_SKIPPED: _none_skipped,
    TriggerRule.ALWAYS: _always,
}
