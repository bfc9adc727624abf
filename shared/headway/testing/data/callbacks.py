"""Callbacks for tests: DAGs that have functions to call, and what has become of their events."""

from dataclasses import replace

from sqlalchemy import Engine

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.db.reads import callback_views, run_views
from headway.db.reads.callback_views import CallbackView
from headway.db.reads.run_views import RunView
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.states import Outcome
from headway.testing.data import seed

ALL = tuple(CallbackEvent)


def caring(*events: CallbackEvent, of_run: tuple[CallbackEvent, ...] = ()) -> DagSpec:
    """Return a DAG of one task with functions for these events, of the task and of a run."""
    task = replace(seed.task("work"), callbacks=events, retries=5)
    return replace(seed.dag(task), callbacks=of_run)


def report(
    engine: Engine,
    key: AttemptKey,
    outcome: Outcome = Outcome.SUCCESS,
    following: Next = seed.SUCCESS,
    events: tuple[CallbackEvent, ...] = ALL,
) -> bool:
    """Report the end of an attempt, and these events; return whether that was taken."""
    told = Report(key=key, outcome=outcome, following=following, error="x", callbacks=events)
    with engine.begin() as conn:
        return key in attempts.report(conn, [told])


def rows(engine: Engine) -> list[CallbackView]:
    """Return all callbacks, the first one first."""
    with engine.connect() as conn:
        return callback_views.callbacks(conn)[::-1]


def runs(engine: Engine) -> list[RunView]:
    """Return all runs."""
    with engine.connect() as conn:
        return run_views.runs(conn)
