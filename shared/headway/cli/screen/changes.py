"""Say what was changed in a run, in one sentence."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from headway.cli.screen.output import Format, as_row, tell
from headway.domain.states import UNFINISHED_RUN, RunState, TaskState

if TYPE_CHECKING:
    from headway.actions.change import Author, RunChange, Versions
    from headway.cli.input.session import Transaction
    from headway.domain.hints import Hint

_BECOMES: Final[Mapping[TaskState, str]] = {
    TaskState.NONE: "cleared",
    TaskState.SUCCESS: "marked success",
    TaskState.FAILED: "marked failed",
    TaskState.SKIPPED: "skipped",
    TaskState.REMOVED: "removed",
}


def author(reason: str | None) -> "Author":
    """Return who is using the command, with the reason that was given."""
    from headway.actions.change import Author
    from headway.cli.input.session import actor

    return Author(actor(), reason)


def change(
    work: "Callable[[Transaction], RunChange]",
    *,
    where: tuple[str, str],
    yes: bool,
    output: Format = Format.TABLE,
) -> None:
    """Change the run `where` (DAG and run id) and say how; ask before, unless `yes`."""
    from headway.actions.change import held_by_dag
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.screen import hints

    dag_id, run_id = where
    if not yes:
        would = rehearse(work)
        if would:
            ask(f"This would change run {run_id} of {dag_id}: {told(would)}.")

    def do(conn: "Transaction") -> "tuple[RunChange, Hint | None]":
        done = work(conn)
        goes_on = not done.ends and done.run in UNFINISHED_RUN
        return done, held_by_dag(conn, dag_id) if goes_on else None

    done, holding = act(do)
    held = None if holding is None else hints.told(holding)
    row = {"dag_id": dag_id, "run_id": run_id, **_fields(done), "held": held}
    lines = [f"Run {run_id} of {dag_id}: {told(done)}.", held]
    tell("\n".join(filter(None, lines)), row, output)


def _fields(done: "RunChange") -> dict[str, object]:
    """Return what was done, for a program."""
    from dataclasses import replace

    # A Counter cannot be copied as a field.
    return as_row(replace(done, moved=dict(done.moved), stopping=dict(done.stopping)))


def told(done: "RunChange") -> str:
    """Return what was done, as part of a sentence."""
    parts = [
        f"{_instances(number)} {_BECOMES[state]}"
        for state, number in sorted(done.moved.items())
        if number
    ]
    parts += [
        f"{_instances(number)} told to stop, then {_BECOMES[state]}"
        for state, number in sorted(done.stopping.items())
        if number
    ]
    if done.remade:
        parts.append(f"{_count(done.remade, 'mapped task')} to be expanded anew")
    if done.added:
        parts.append(f"{_count(done.added, 'task')} added")
    sentence = [", ".join(parts), _run(done)] if parts else [_run(done)]
    if done and done.versions is not None:
        sentence.append(_version(done.versions))
    return "; ".join(sentence)


def _version(versions: "Versions") -> str:
    """Say which version the run has, and whether that is the one in force."""
    said = f"it has version {versions.after}"
    if versions.in_force == versions.after:
        said += ", which is in force"
    elif versions.in_force is not None:
        said += f", while {versions.in_force} is in force (--version latest takes that)"
    return said if versions.after == versions.before else f"{said}, instead of {versions.before}"


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
