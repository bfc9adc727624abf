"""A run that a task asks for, and what becomes of the request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from headway.domain.arguments import JsonValue

MOST_REQUESTS: Final = 1000
"""Runs that one attempt may ask for."""


class RequestAnswer(StrEnum):
    """What a scheduler has made of a request."""

    CREATED = "created"
    RESET = "reset"
    EXISTS = "exists"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWanted:
    """A run of a DAG of the same bundle, as if at `logical_date`, by default at this moment.

    With `reset` one of that id that has ended runs again.  None is wanted of a DAG that is
    paused if `unless_paused`.  The attempt `waits` for its end; the journal tells the `note`.
    """

    dag_id: str
    run_id: str | None = None
    logical_date: datetime | None = None
    conf: Mapping[str, JsonValue] = field(default_factory=dict)
    reset: bool = False
    unless_paused: bool = False
    waits: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What was made of a request: of which run it speaks, or for what reason there is none."""

    answer: RequestAnswer
    run_id: str | None = None
    reason: str | None = None
