"""What the command says it has changed."""

import pytest

from headway.actions.intervene import Change
from headway.cli.changes import told
from headway.domain.states import RunState, TaskState

QUEUED, RUNNING, SUCCESS, FAILED = RunState
CLEARED = TaskState.NONE


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            Change(FAILED, QUEUED, {CLEARED: 2}),
            "2 task instances cleared; the run waits to start",
        ),
        (
            Change(RUNNING, RUNNING, {}, {CLEARED: 1}),
            "1 task instance told to stop, then cleared; the run goes on",
        ),
        (
            Change(
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
            Change(RUNNING, RUNNING, {TaskState.SKIPPED: 1}, ends=SUCCESS),
            "1 task instance skipped; the run ends as success",
        ),
        (
            Change(RUNNING, RUNNING, {CLEARED: 1, TaskState.SUCCESS: 1}),
            "1 task instance cleared, 1 task instance marked success; the run goes on",
        ),
        (
            Change(SUCCESS, QUEUED, {CLEARED: 1}, remade=1),
            "1 task instance cleared, 1 mapped task to be expanded anew; the run waits to start",
        ),
        (Change(QUEUED, FAILED), "the run is failed"),
        (Change(RUNNING, RUNNING), "nothing is to be changed, the run is running"),
    ],
)
def test_a_change_is_told_in_one_sentence(change: Change, sentence: str) -> None:
    assert told(change) == sentence
