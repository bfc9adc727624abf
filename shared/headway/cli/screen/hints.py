"""Tell a hint as the command line has it: actions are commands, parameters are options."""

import re
import shlex
from collections.abc import Mapping
from typing import Final

from headway.domain.hints import Action, ActionCall, Argument, Hint, HintPart, Parameter

COMMANDS: Final[Mapping[Action, str]] = {
    Action.CANCEL_BACKFILL: "backfill cancel {backfill_id} --yes",
    Action.CANCEL_RUN: "runs cancel {dag_id} {run_id} --yes",
    Action.CANCEL_TASKS: "tasks cancel",
    Action.CLEAR_RUN: "runs clear {dag_id} {run_id} --yes",
    Action.CLEAR_TASKS: "tasks clear {dag_id} {run_id} {tasks} --yes",
    Action.CREATE_BACKFILL: "backfill create {dag_id} --from {from_date} --to {to_date}",
    Action.CREATE_KEY: "secrets new-key",
    Action.LIST_ACCOUNTS: "accounts list",
    Action.LIST_BACKFILLS: "backfill list",
    Action.LIST_BUNDLES: "bundles list",
    Action.LIST_CALLBACKS: "callbacks list",
    Action.LIST_CONNECTIONS: "connections list",
    Action.LIST_DAGS: "dags list",
    Action.LIST_NOTIFICATIONS: "notifications list",
    Action.LIST_POOLS: "pools list",
    Action.LIST_RUNS: "runs list[ {dag_id}]",
    Action.LIST_TASKS: "tasks list {dag_id} {run_id}",
    Action.LIST_TOKENS: "tokens list",
    Action.LIST_VARIABLES: "variables list",
    Action.LIST_VERSIONS: "dags versions {dag_id}",
    Action.LIST_WORKERS: "worker list",
    Action.MARK_RUN: "runs mark",
    Action.MARK_TASKS: "tasks mark",
    Action.MIGRATE_DATABASE: "db migrate",
    Action.RESUME_BACKFILL: "backfill resume {backfill_id}",
    Action.SHOW_BACKFILL: "backfill show {backfill_id}",
    Action.SHOW_DAG: "dags show {dag_id}",
    Action.TRIGGER_DAG: "dags trigger {dag_id} --interval {interval}",
    Action.UNPAUSE_DAG: "dags unpause {dag_id}",
}
"""Each action's command; what is in brackets is left out where its arguments are not given."""

OPTIONS: Final[Mapping[str, str]] = {
    "dates": "--date",
    "from_date": "--from",
    "to_date": "--to",
}
"""The options of parameters that have another name on the command line."""

_NAME: Final = re.compile(r"\{(\w+)\}")
_OPTIONAL: Final = re.compile(r"\[([^\]]*)\]")


def told(hint: Hint) -> str:
    """Return a hint with its commands and options in backticks."""
    return "".join(map(_part, hint.parts))


def _part(part: HintPart) -> str:
    match part:
        case ActionCall():
            return f"`headway {_command(part)}`"
        case Parameter(name, None):
            return f"`{_option(name)}`"
        case Parameter(name, value):
            return f"`{_option(name)} {value}`"
    return part


def _option(name: str) -> str:
    return OPTIONS.get(name) or f"--{name.replace('_', '-')}"


def _command(call: ActionCall) -> str:
    def wanted(optional: re.Match[str]) -> str:
        return optional[1] if set(_NAME.findall(optional[1])) <= call.arguments.keys() else ""

    template = _OPTIONAL.sub(wanted, COMMANDS[call.action])
    return _NAME.sub(lambda name: _words(call.arguments[name[1]]), template)


def _words(argument: Argument) -> str:
    """Return an argument in the words that a shell takes."""
    return shlex.join(argument) if isinstance(argument, tuple) else shlex.quote(str(argument))
