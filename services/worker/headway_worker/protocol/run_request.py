"""A task's request for a run, and the answer, as plain data."""

from datetime import datetime

from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted
from headway.runtime.processes.frames import Frame


def wanted_to_frame(wanted: RunWanted) -> Frame:
    """Return what a task asks for as plain data."""
    date = wanted.logical_date
    return {
        "dag_id": wanted.dag_id,
        "run_id": wanted.run_id,
        "logical_date": None if date is None else date.isoformat(),
        "conf": dict(wanted.conf),
        "reset": wanted.reset,
        "unless_paused": wanted.unless_paused,
        "waits": wanted.waits,
        "note": wanted.note,
    }


def wanted_from_frame(frame: Frame) -> RunWanted:
    """Return what `wanted_to_frame` made the data of; a task may have sent anything."""
    date = frame["logical_date"]
    return RunWanted(
        dag_id=str(frame["dag_id"]),
        run_id=_text(frame["run_id"]),
        logical_date=None if date is None else datetime.fromisoformat(date),
        conf=dict(frame["conf"]),
        reset=bool(frame["reset"]),
        unless_paused=bool(frame["unless_paused"]),
        waits=bool(frame["waits"]),
        note=_text(frame["note"]),
    )


def answer_to_frame(answer: RunAnswer | None) -> Frame:
    """Return the answer as plain data; None while there is none."""
    if answer is None:
        return {"answer": None}
    return {"answer": str(answer.answer), "run_id": answer.run_id, "reason": answer.reason}


def answer_from_frame(frame: Frame) -> RunAnswer | None:
    """Return what `answer_to_frame` made the data of."""
    if frame["answer"] is None:
        return None
    return RunAnswer(RequestAnswer(frame["answer"]), frame["run_id"], frame["reason"])


def _text(value: object) -> str | None:
    return None if value is None else str(value)
