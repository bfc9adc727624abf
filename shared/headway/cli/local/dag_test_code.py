"""The files that `headway dags test` gives to a DAG: those that a worker would have, no others."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headway.cli.input.installed import GROUP
from headway.domain.errors import NotFoundError
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings
from headway.sdk.bundle.bundle_code import BundleCode, declaration
from headway.sdk.bundle.bundle_imports import importing


def bundle_root(file: Path) -> Path:
    """Return the folder of the configured bundle that holds a DAG file, else the file's folder."""
    for source in configuration.read(ParserSettings).sources.values():
        if source.path is not None and file.is_relative_to(source.path.absolute()):
            return source.path.absolute()
    return file.parent


@contextmanager
def version_code(root: Path, dag_file: str) -> Iterator[BundleCode]:
    """Give the files of the version that the DAG file would make now, and its bundle's besides."""
    found = _parser().version_files(root, dag_file)
    for note in found.notes:
        _say(note)
    with TemporaryDirectory(prefix="headway-test-") as folder:
        code = BundleCode(Path(folder).resolve() / root.name, found.files, found)
        with importing(code):
            yield code


def tell_opened(code: BundleCode, dag_file: str) -> None:
    """Say which files were opened that are no part of the version."""
    if code.opened:
        _say(
            f"{', '.join(sorted(code.opened))}: opened, and no part of the version. A worker has "
            "what the bundle held when the version was made; an edit of such a file alone makes "
            f"no new version. To have that, add to {dag_file}: "
            f"{declaration(sorted(code.opened), dag_file)}"
        )


def _parser() -> Any:
    """Return the parser's module for this; parsers are reached by their entry point alone."""
    found = tuple(entry_points(group=GROUP, name="parser"))
    if not found:
        raise NotFoundError("The parser is not installed; install the whole of headway.")
    return import_module(f"{found[0].module.rpartition('.')[0]}.version_files")


def _say(what: str) -> None:
    print(f"[headway] {what}", flush=True)
