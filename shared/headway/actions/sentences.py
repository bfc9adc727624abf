"""Say what was done to a run, in one sentence.  Commands import this: it loads little."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headway.domain.states import RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.actions.change import RunChange, Versions
    from headway.decide.changes.provider_changes import ProviderChange

_BECOMES: Final[Mapping[TaskState, str]] = {
    TaskState.NONE: "cleared",
    TaskState.SUCCESS: "marked success",
    TaskState.FAILED: "marked failed",
    TaskState.SKIPPED: "skipped",
    TaskState.REMOVED: "removed",
}


def told(done: "RunChange", remark: str = "") -> str:
    """Return what was done, as part of a sentence.

    The remark follows where another version is in force, and says how to take that.
    """
    parts = _moves(done.moved, done.stopping)
    if done.remade:
        parts.append(f"{_count(done.remade, 'mapped task')} to be expanded anew")
    if done.added:
        parts.append(f"{_count(done.added, 'task')} added")
    sentence = [", ".join(parts), _run(done)] if parts else [_run(done)]
    if done and done.versions is not None:
        sentence.append(_version(done.versions, remark))
        sentence += [_provider(done.versions.after, each) for each in done.versions.providers]
    return "; ".join(sentence)


def told_together(changes: "Sequence[RunChange]") -> str:
    """Return what was done to several runs, as part of a sentence."""
    moved, stopping = Counter[TaskState](), Counter[TaskState]()
    for each in changes:
        moved.update(each.moved)
        stopping.update(each.stopping)
    changed = sum(map(bool, changes))
    if not changed:
        return "nothing is to be changed"
    what = ", ".join(_moves(moved, stopping)) or "changes"
    left = len(changes) - changed
    rest = f"; {_count(left, 'run')} left alone" if left else ""
    of = {(v.after, p): _provider(v.after, p) for v in _versions(changes) for p in v.providers}
    rest += "".join(f"; {sentence}" for sentence in of.values())
    return f"{what} in {_count(changed, 'run')}{rest}"


def _versions(changes: "Sequence[RunChange]") -> "list[Versions]":
    return [each.versions for each in changes if each and each.versions is not None]


def _moves(moved: "Mapping[TaskState, int]", stopping: "Mapping[TaskState, int]") -> list[str]:
    return [
        f"{_instances(number)} {_BECOMES[state]}"
        for state, number in sorted(moved.items())
        if number
    ] + [
        f"{_instances(number)} told to stop, then {_BECOMES[state]}"
        for state, number in sorted(stopping.items())
        if number
    ]


def _version(versions: "Versions", remark: str) -> str:
    """Say which version the run has, and whether that is the one in force."""
    said = f"it has version {versions.after}"
    if versions.in_force == versions.after:
        said += ", which is in force"
    elif versions.in_force is not None:
        said += f", while {versions.in_force} is in force{remark}"
    return said if versions.after == versions.before else f"{said}, instead of {versions.before}"


def _provider(version: int, change: "ProviderChange") -> str:
    return (
        f"version {version} was made with {change.package} {change.noted}, and "
        f"{change.installed} is installed now"
    )


def _run(done: "RunChange") -> str:
    if not done:
        return f"nothing is to be changed, the run is {done.run}"
    if done.ends is not None:
        when = " when that has stopped" if done.stopping else ""
        return f"the run ends as {done.ends}{when}"
    if done.run is RunState.QUEUED:
        return "the run waits to start"
    return "the run goes on" if done.run is RunState.RUNNING else f"the run is {done.run}"


def _instances(number: int) -> str:
    return _count(number, "task instance")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
