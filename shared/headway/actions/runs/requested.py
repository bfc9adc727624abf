"""Carry out what a task asks for: a run of another DAG, as a user triggers one."""

from sqlalchemy import Connection

from headway.actions.change import Author, JournalEntry, enter
from headway.actions.lookup import graph_of, lock_run
from headway.actions.runs.trigger import TriggerRequest, create
from headway.db.changes import run_changes, run_end
from headway.decide.changes.clear import Selection, clear
from headway.decide.scheduling.requested import RequestFacts, RunRequest
from headway.domain.dag.run_request import RequestAnswer, RunAnswer
from headway.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    RefusalError,
    StillActiveError,
)
from headway.domain.states import UNFINISHED_RUN, Role, RunType


def carry_out(conn: Connection, request: RunRequest, facts: RequestFacts, actor: str) -> RunAnswer:
    """Create the run that is asked for, or reset the one that is there; return the answer.

    What a user would be told as an error is an answer.
    """
    run_id = _name(request)
    try:
        with conn.begin_nested():
            answer = _carry_out(conn, request, run_id, facts, actor)
    except AlreadyExistsError:
        return RunAnswer(RequestAnswer.EXISTS, run_id)
    except (RefusalError, NotFoundError, ConflictError) as error:
        return RunAnswer(RequestAnswer.REFUSED, reason=str(error))
    return RunAnswer(answer, run_id)


def _carry_out(
    conn: Connection, request: RunRequest, run_id: str, facts: RequestFacts, actor: str
) -> RequestAnswer:
    wanted = request.wanted
    given = TriggerRequest(
        wanted.dag_id,
        wanted.conf,
        run_id,
        wanted.logical_date,
        reason=wanted.note,
        by_task=facts.author,
    )
    try:
        create(conn, given, request.created_at, actor)
    except AlreadyExistsError:
        if not wanted.reset:
            raise
        _reset(conn, wanted.dag_id, run_id, facts, Author(actor, wanted.note))
        return RequestAnswer.RESET
    return RequestAnswer.CREATED


def _name(request: RunRequest) -> str:
    """Return what the run is called: without an id and a date two of one moment differ."""
    wanted = request.wanted
    if wanted.run_id is not None:
        return wanted.run_id
    if wanted.logical_date is not None:
        return f"{RunType.MANUAL}__{wanted.logical_date.isoformat()}"
    return f"{RunType.MANUAL}__{request.created_at.isoformat()}__{request.id}"


def _reset(conn: Connection, dag_id: str, run_id: str, facts: RequestFacts, author: Author) -> None:
    """Have a run that has ended run again, all of it, with its own version and conf."""
    run = lock_run(conn, dag_id, run_id)
    if run.state in UNFINISHED_RUN:
        raise StillActiveError(
            f"Run {run_id} of DAG {dag_id} is {run.state}; reset_dag_run resets one that has ended."
        )
    instances = run_changes.lock_instances(conn, [run])
    entry = JournalEntry(author, "run.clear", details={"by_task": facts.author})
    enter(conn, run, entry, instances)
    what = clear(graph_of(conn, run), instances, Selection())
    run_changes.write(conn, what, Role.SCHEDULER, entry.order)
    run_end.start_again(conn, [run.id], Role.SCHEDULER)
