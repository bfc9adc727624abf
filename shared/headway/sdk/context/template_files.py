"""Template files: they lie beside the DAG file, or in a folder of its `template_searchpath`."""

from collections.abc import Collection, Iterator
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

from headway.domain.dag.templates import MARKS
from headway.domain.errors import DagError
from headway.sdk.context.literals import LiteralText

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG

_NO_NAMES: Final = ("/", "~", "$")
"""What begins a path that is for the task itself to open or to run."""


class FileText(str):
    """The content of a template file; `name` is what it was asked for by."""

    name: str
    path: Path


def is_name(value: object, endings: Collection[str]) -> TypeGuard[str]:
    """Whether a value is the name of a template file: one word with such an ending."""
    return (
        isinstance(value, str)
        and not isinstance(value, FileText | LiteralText)
        and value.endswith(tuple(endings))
        and not value.startswith(_NO_NAMES)
        and not any(character.isspace() for character in value)
        and not any(mark in value for mark in MARKS)
    )


def read(dag: "DAG | None", name: str) -> FileText | None:
    """Return the content of the first file of that name; None if there is none.

    A parser notes each place where it looks, so that the file may come later.
    """
    file = dag.file if dag else None
    for path in _places(dag, name):
        content = file.read(path) if file else None
        if content is not None:
            try:
                found = FileText(content, "utf-8")
            except UnicodeDecodeError:
                raise DagError(f"The template file {name!r} is no text in UTF-8.") from None
            found.name, found.path = name, path
            return found
    return None


def missing(field: str, name: str) -> str:
    """Return what to say of a field that names a file which is not there."""
    return (
        f"{field} names the file {name!r}, and there is none beside the DAG file or on the DAG's "
        "template_searchpath. Put it there, so that it is part of the DAG's version; or write "
        f"literal({name!r}), if it names no template file."
    )


def check_searchpath(dag: "DAG") -> None:
    """Refuse folders outside of the bundle: their files could not be part of a version."""
    if not dag.template_searchpath:
        return
    root = dag.file.bundle_root if dag.file else None
    for given, folder in zip(dag.template_searchpath, list(_folders(dag))[1:], strict=False):
        if root is not None and not folder.is_relative_to(root):
            raise DagError(
                f"DAG {dag.dag_id!r}: template_searchpath names {given!r}, which is outside of the "
                "bundle, so that its files cannot be part of the DAG's version. Put the folder "
                "into the bundle, and name it relative to the DAG file."
            )


def _places(dag: "DAG | None", name: str) -> Iterator[Path]:
    root = dag.file.bundle_root if dag and dag.file else None
    for folder in _folders(dag):
        path = Path(normpath(folder / name))
        if root is not None and path.is_relative_to(root):
            yield path


def _folders(dag: "DAG | None") -> Iterator[Path]:
    """Yield the folder of the DAG file, and those of the searchpath, relative to it."""
    if dag is not None and dag.file is not None:
        here = dag.file.path.parent
        yield here
        for folder in dag.template_searchpath:
            yield Path(normpath(here / folder))
