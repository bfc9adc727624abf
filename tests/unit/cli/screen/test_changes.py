"""What the command says it has changed."""

import pytest

from headway.actions.change import RunChange, Versions
from headway.actions.sentences import told, told_together
from headway.decide.changes.provider_changes import ProviderChange
from headway.domain.states import RunState, TaskState

QUEUED, RUNNING, SUCCESS, FAILED = RunState
CLEARED = TaskState.NONE


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            RunChange(FAILED, QUEUED, {CLEARED: 2}),
            "2 task instances cleared; the run waits to start",
        ),
        (
            RunChange(RUNNING, RUNNING, {}, {CLEARED: 1}),
            "1 task instance told to stop, then cleared; the run goes on",
        ),
        (
            RunChange(
                RUNNING,
                RUNNING,
                {TaskState.SKIPPED: 3},
                {TaskState.FAILED: 2},
                ends=FAILED,
            ),
            (
                "3 task instances skipped, 2 task instances told to stop, then marked failed; "
                "the run ends as failed when that has stopped"
            ),
        ),
        (
            RunChange(RUNNING, RUNNING, {TaskState.SKIPPED: 1}, ends=SUCCESS),
            "1 task instance skipped; the run ends as success",
        ),
        (
            RunChange(RUNNING, RUNNING, {CLEARED: 1, TaskState.SUCCESS: 1}),
            "1 task instance cleared, 1 task instance marked success; the run goes on",
        ),
        (
            RunChange(SUCCESS, QUEUED, {CLEARED: 1}, remade=1),
            "1 task instance cleared, 1 mapped task to be expanded anew; the run waits to start",
        ),
        (
            RunChange(FAILED, QUEUED, {CLEARED: 1}, versions=Versions(3, 3, 5)),
            (
                "1 task instance cleared; the run waits to start; "
                "it has version 3, while 5 is in force (--version latest takes that)"
            ),
        ),
        (
            RunChange(FAILED, QUEUED, {CLEARED: 1}, versions=Versions(3, 3, 3)),
            "1 task instance cleared; the run waits to start; it has version 3, which is in force",
        ),
        (
            RunChange(
                FAILED, QUEUED, {TaskState.REMOVED: 2}, added=1, versions=Versions(3, 4, None)
            ),
            (
                "2 task instances removed, 1 task added; the run waits to start; "
                "it has version 4, instead of 3"
            ),
        ),
        (
            RunChange(QUEUED, QUEUED, versions=Versions(3, 5, 5)),
            "the run waits to start; it has version 5, which is in force, instead of 3",
        ),
        (
            RunChange(RUNNING, RUNNING, versions=Versions(3, 3, 5)),
            "nothing is to be changed, the run is running",
        ),
        (RunChange(QUEUED, FAILED), "the run is failed"),
        (RunChange(RUNNING, RUNNING), "nothing is to be changed, the run is running"),
    ],
)
def test_a_change_is_told_in_one_sentence(change: RunChange, sentence: str) -> None:
    assert told(change, " (--version latest takes that)") == sentence


def test_several_runs_are_told_of_a_provider_package_once() -> None:
    http = ProviderChange("apache-airflow-providers-http", "6.2.0", "6.3.0")
    change = RunChange(FAILED, QUEUED, {CLEARED: 1}, versions=Versions(3, 3, 5, (http,)))

    assert told_together([change, change]) == (
        "2 task instances cleared in 2 runs; version 3 was made with apache-airflow-providers-http "
        "6.2.0, and 6.3.0 is installed now"
    )
