"""Take out of given arguments what Airflow's took, and say so."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headway.airflow_layer.notes import note
from headway.airflow_layer.tolerance.old_arguments import (
    NONE_IS_USUAL,
    OF_DAGS,
    OF_TASKS,
    TRIGGER_RULES,
    OldArgument,
)
from headway.domain.errors import DagError


def by_name(
    kind: str, names: Sequence[str], args: Sequence[Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all arguments by their names; those without one are the first ones of that kind."""
    if len(args) > len(names):
        raise DagError(
            f"{kind} has {len(args)} arguments without a name, and takes {', '.join(names)} so; "
            "write the names of all others."
        )
    return {**dict(zip(names, args, strict=False)), **given}


def of_task(given: Mapping[str, Any], accepted: Collection[str]) -> dict[str, Any]:
    """Return arguments of a task as the SDK takes them; those it takes anyway stay."""
    return _values(_without_old(given, accepted, OF_TASKS, "of a task"))


def of_dag(given: Mapping[str, Any], accepted: Collection[str]) -> dict[str, Any]:
    """Return arguments of a DAG as the SDK takes them; those it takes anyway stay."""
    return _without_old(given, accepted, OF_DAGS, "of a DAG")


def of_defaults(
    given: Mapping[str, Any], accepted: Collection[str], of_dags_alone: Collection[str]
) -> dict[str, Any]:
    """Return default_args as the SDK takes them: without what tasks never take."""
    tidy = _values(_without_old(given, accepted, OF_TASKS, "in default_args"))
    for name in [name for name in tidy if name in of_dags_alone or name in OF_DAGS]:
        if name in accepted:
            continue
        del tidy[name]
        note(
            f"default_args:{name}",
            f"{name} in default_args has no effect, and has none in Airflow: pass it to the DAG "
            "itself, or leave it out.",
        )
    return tidy


def _without_old(
    given: Mapping[str, Any], accepted: Collection[str], table: Mapping[str, OldArgument], of: str
) -> dict[str, Any]:
    tidy: dict[str, Any] = {}
    for name, value in given.items():
        old = table.get(name)
        if old is None or (name in accepted and value is not None):
            tidy[name] = value
        elif any(value is idle or (value == idle) is True for idle in old.idle):
            continue
        elif old.advice is None:
            tidy[name] = value
        else:
            _say(name, of, old)
            if old.renamed and old.renamed not in given:
                tidy[old.renamed] = value
    return tidy


def _say(name: str, of: str, old: OldArgument) -> None:
    if old.renamed:
        said = f"The argument {name} {of} is called {old.renamed} now; write that."
    else:
        said = f"The argument {name} {of} has no effect: {old.advice}."
    note(f"argument:{name}", said)


def _values(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with values that the SDK takes."""
    tidy = {
        name: value
        for name, value in given.items()
        if value is not None or name not in NONE_IS_USUAL
    }
    rule = str(tidy.get("trigger_rule", ""))
    if rule in TRIGGER_RULES:
        tidy["trigger_rule"] = new = TRIGGER_RULES[rule]
        note(f"trigger_rule:{rule}", f"The trigger rule {rule} is called {new} now; write that.")
    backoff = tidy.get("retry_exponential_backoff")
    if isinstance(backoff, int | float) and not isinstance(backoff, bool):
        tidy["retry_exponential_backoff"] = backoff > 0
        if backoff not in (0, 2):
            note(
                "retry_exponential_backoff",
                f"retry_exponential_backoff={backoff:g}: the delay is doubled each time. Write "
                "True, and max_retry_delay for the longest one.",
            )
    return tidy
