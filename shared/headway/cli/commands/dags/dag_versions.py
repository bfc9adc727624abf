"""`headway dags versions`, `diff` and `code`: what a DAG was."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headway.cli.screen.output import Format, Output, as_row

if TYPE_CHECKING:
    from headway.db.reads.history import VersionView
    from headway.decide.changes.difference import Changes, FileDifference, Structure

COLUMNS: Final = (
    "number",
    "in_force",
    "created_at",
    "commit",
    "tasks",
    "runs",
    "fingerprint",
    "changed",
)
_SHORT: Final = 12
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def versions(dag_id: str, output: Output = Format.TABLE) -> None:
    """List the versions of a DAG, the newest first, with what each changed."""
    from headway.actions.dags.history import versions_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show

    with transaction() as conn:
        found = versions_of(conn, dag_id)
    rows = [{**as_row(version), "changed": _changed(version)} for version in found]
    if output is Format.TABLE:
        for row in rows:
            row["fingerprint"] = row["fingerprint"][:_SHORT]
            row["commit"] = row["commit"] and row["commit"][:_SHORT]
    show(rows, COLUMNS, output)


def diff(
    dag_id: str,
    old: Annotated[int, typer.Argument(help="The number of a version.")],
    new: Annotated[
        int | None,
        typer.Argument(help="The number of another version; default: the version in force."),
    ] = None,
    structure: Annotated[bool, typer.Option("--structure", help="Only the structure.")] = False,
    code: Annotated[bool, typer.Option("--code", help="Only the code.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Show the differences between two versions of a DAG: tasks, edges and code."""
    from headway.actions.dags.history import as_it_was, changed_sources
    from headway.cli.input.session import transaction
    from headway.cli.screen.terminal import show_lines
    from headway.decide.changes import difference

    with transaction() as conn:
        before, after = as_it_was(conn, dag_id, old), as_it_was(conn, dag_id, new)
        old_files, new_files = ({}, {}) if structure else changed_sources(conn, before, after)
    shape = difference.Structure() if code else difference.structure(before.spec, after.spec)
    files = difference.code(old_files, new_files)
    if output is Format.JSON:
        _print_json(dag_id, (before.number, after.number), shape, files)
        return
    lines = [*_structure(shape), *_files(files)]
    where = f"between versions {before.number} and {after.number} of {dag_id}"
    what = "in the structure " if structure else "in the code " if code else ""
    if structure == code:
        what = ""
    show_lines(lines or [(f"No difference {what}{where}.", "")])


def code(
    dag_id: str,
    version: Annotated[
        int | None,
        typer.Option("--version", help="The version's number; default: the version in force."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Only the file with this path.")
    ] = None,
) -> None:
    """Print the code of a version: the DAG file, then all other files of the version.

    With --file and without a terminal, the bytes of the file are written unchanged.
    """
    from headway.actions.dags.history import as_it_was, sources
    from headway.cli.input.session import transaction
    from headway.cli.screen.terminal import on_terminal, show_lines, show_source
    from headway.domain.errors import VersionNotFoundError

    with transaction() as conn:
        was = as_it_was(conn, dag_id, version)
        if file is not None and file not in was.files:
            raise VersionNotFoundError(
                f"Version {was.number} of DAG {dag_id} has no file {file!r}; it has "
                f"{', '.join(sorted(was.files)) or 'none'}."
            )
        [found] = sources(conn, was)
    if file is not None and not on_terminal():
        sys.stdout.buffer.write(found[file])
        return
    first = was.spec.relative_path
    paths = [file] if file else sorted(found, key=lambda path: (path != first, path))
    for path in paths:
        if file is None:
            show_lines([(f"==> {path} (version {was.number}) <==", "bold")])
        show_source(path, found[path])


def _changed(version: "VersionView") -> str:
    """Say in a few words what is different from the version before."""
    if version.structure_changed is None:
        return "first"
    kinds = {"structure": version.structure_changed, "code": version.code_changed}
    return " and ".join(kind for kind, differs in kinds.items() if differs) or "nothing"


def _structure(shape: "Structure") -> Iterator[tuple[str, str]]:
    yield from _fields("DAG", shape.attributes)
    yield from ((f"- task {task_id}", "red") for task_id in shape.removed)
    yield from ((f"+ task {task_id}", "green") for task_id in shape.added)
    for task_id, changes in shape.changed.items():
        yield from _fields(f"task {task_id}", changes)
    yield from ((f"- edge {above} -> {below}", "red") for above, below in shape.edges_removed)
    yield from ((f"+ edge {above} -> {below}", "green") for above, below in shape.edges_added)


def _fields(what: str, changes: "Changes") -> Iterator[tuple[str, str]]:
    if changes:
        yield f"~ {what}", "yellow"
    for name, (before, after) in changes.items():
        yield f"    {name}: {_value(before)} -> {_value(after)}", ""


def _value(value: object) -> str:
    from json import dumps

    return dumps(value, default=str, ensure_ascii=False)


def _files(files: "Sequence[FileDifference]") -> Iterator[tuple[str, str]]:
    for changed in files:
        if changed.lines:
            yield from ((line, _STYLES.get(line[:1], "")) for line in changed.lines)
            continue
        yield (
            f"{changed.change} {changed.path} ({'empty' if changed.lines == [] else 'not text'})",
            "yellow",
        )
        for sign, key in (("-", changed.before), ("+", changed.after)):
            if key is not None:
                yield f"{sign} sha256 {key}", _STYLES[sign]
        yield from ((f"    {change} {name}", "") for name, change in changed.entries.items())


def _print_json(
    dag_id: str,
    numbers: tuple[int, int],
    shape: "Structure",
    files: "Sequence[FileDifference]",
) -> None:
    from headway.cli.screen.output import show

    found = {"dag_id": dag_id, "versions": list(numbers), "structure": as_row(shape)}
    show([{**found, "code": [as_row(changed) for changed in files]}], (), Format.JSON)
