"""`headway explain`: why a task instance is not running."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.cli.screen.output import Format, Output, as_row
from headway.runtime.logs.escaping import say, visible

if TYPE_CHECKING:
    from headway.decide.explain.explanation import Explanation

COLUMNS: Final = ("dag_id", "run_id", "task_id", "map_index", "state", "slots", "since", "worker")


def explain(
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: Annotated[
        int | None,
        typer.Option(min=0, help="The instance of a mapped task; default: an instance that waits."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say why a task instance is not running, what holds it, and what would change that.

    The command assumes that the schedulers have the settings that HEADWAY_SCHEDULER_… have here.
    """
    from headway.actions.explain.explain import ExplainRequest
    from headway.actions.explain.explain import explain as find
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.core.server import now
    from headway.runtime.settings.configuration import read
    from headway.runtime.settings.scheduler import SchedulerSettings

    settings = read(SchedulerSettings)
    with transaction() as conn:
        found = find(conn, ExplainRequest(dag_id, run_id, task_id, map_index), settings, now(conn))
    if output is Format.JSON:
        show([_plain(found)], (), output)
    else:
        _tell(found)


def _tell(found: "Explanation") -> None:
    from headway.cli.screen.output import show

    assert found.subject is not None
    about = found.subject
    stands = "is not there yet"
    if about.state is not None:
        stands = "is undecided" if about.state == "none" else f"is {about.state}"
    title = visible(f"{about.name} in {about.run_id} of {about.dag_id} {stands}")
    typer.echo(typer.style(title, bold=True))
    say(found.sentence)
    say(f"What changes that: {found.change}")
    if found.place is not None:
        say(f"Queue position in {found.place.queue}: {found.place.nth} of {found.place.of}")
    for fact in found.facts:
        say(f"- {fact}")
    if found.held_by:
        rows = [as_row(holder) for holder in found.held_by]
        print()
        show(rows, list(_columns(rows)), Format.TABLE)
    if found.because is not None:
        print()
        _tell(found.because)


def _columns(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the columns in which something stands."""
    for column in COLUMNS:
        if any(row[column] not in {None, -1} for row in rows):
            yield column


def _plain(found: "Explanation") -> dict[str, Any]:
    from dataclasses import replace

    subject = found.subject._asdict() if found.subject is not None else {}
    said = as_row(replace(found, subject=None, because=None))
    del said["subject"]
    because = None if found.because is None else _plain(found.because)
    return {**subject, **said, "because": because}
