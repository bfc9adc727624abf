"""What a user can do next, as data.

A hint is a sentence in parts.  What a user can do stands in it as an action with its arguments,
or as a parameter of the action that was refused.  Each reader has its own words for these: the
command line renders commands and options (`headway.cli.screen.hints`), and nothing else does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Action(StrEnum):
    """What a user can do; a name for programs."""

    CANCEL_BACKFILL = "backfills.cancel"
    CANCEL_RUN = "runs.cancel"
    CANCEL_TASKS = "tasks.cancel"
    CLEAR_RUN = "runs.clear"
    CLEAR_TASKS = "tasks.clear"
    CREATE_BACKFILL = "backfills.create"
    CREATE_KEY = "secrets.new_key"
    LIST_ACCOUNTS = "accounts.list"
    LIST_BACKFILLS = "backfills.list"
    LIST_BUNDLES = "bundles.list"
    LIST_CALLBACKS = "callbacks.list"
    LIST_CONNECTIONS = "connections.list"
    LIST_DAGS = "dags.list"
    LIST_NOTIFICATIONS = "notifications.list"
    LIST_POOLS = "pools.list"
    LIST_RUNS = "runs.list"
    LIST_TASKS = "tasks.list"
    LIST_TOKENS = "tokens.list"
    LIST_VARIABLES = "variables.list"
    LIST_VERSIONS = "dags.versions"
    LIST_WORKERS = "workers.list"
    MARK_RUN = "runs.mark"
    MARK_TASKS = "tasks.mark"
    MIGRATE_DATABASE = "database.migrate"
    RESUME_BACKFILL = "backfills.resume"
    SHOW_BACKFILL = "backfills.show"
    SHOW_DAG = "dags.show"
    TRIGGER_DAG = "dags.trigger"
    UNPAUSE_DAG = "dags.unpause"


Argument: TypeAlias = "str | int | tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action with arguments by name: all that it needs, or none where it is only named."""

    action: Action
    arguments: Mapping[str, Argument]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the action that was refused, with the value that it should have, if any."""

    name: str
    value: str | int | None = None


HintPart: TypeAlias = str | ActionCall | Parameter


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do: the parts of a sentence, or of several."""

    parts: tuple[HintPart, ...]


def act(action: Action, **arguments: Argument) -> ActionCall:
    """Return an action with its arguments, as a part of a hint."""
    return ActionCall(action, arguments)


def hint(*parts: HintPart) -> Hint:
    """Return a hint of these parts."""
    return Hint(parts)
