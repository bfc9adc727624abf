"""The files that a DAG has in this process: those that a worker would have, or those on disk."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from headway.airflow_layer import finder
from headway.cli.input.installed import GROUP
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import DagError, DagNotFoundError, HeadwayError, NotFoundError
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings
from headway.sdk.authoring.definition import DAG
from headway.sdk.bundle.bundle_code import BundleCode, declaration
from headway.sdk.bundle.bundle_imports import importing
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.provided_secrets import provided_secrets
from headway.sdk.running.tracebacks import message_of, traceback_of


class _NoFiles:
    """Where the files of a DAG come from that no file has made."""

    def content(self, content_hash: str) -> bytes:
        """Refuse: there are none."""
        raise NotFoundError(f"There is no file with the content {content_hash}.")

    def others(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}

    def prepare(self, hashes: Collection[str]) -> None:
        """Do nothing."""


def bundle_root(file: Path) -> Path:
    """Return the folder of the configured bundle that holds a DAG file, else the file's folder.

    A folder of DAG files that is in none is its own.
    """
    bundle = configuration.read(ParserSettings).bundle_at(file)
    if bundle is not None and bundle.path is not None:
        return bundle.path.absolute()
    return file if file.is_dir() else file.parent


def cron_semantics(root: Path) -> CronSemantics | None:
    """Return what the settings of a bundle say of cron strings, if anything."""
    return configuration.read(ParserSettings).semantics_at(root)


def _version_files(root: Path, path: str) -> Any:
    layer = configuration.read(ParserSettings).airflow_layer
    return _parser().version_files(root, path, cron_semantics(root), layer)


@contextmanager
def version_code(root: Path, dag_file: str) -> Iterator[BundleCode]:
    """Give the files of the version that the DAG file would make now, and its bundle's besides."""
    found = _version_files(root, dag_file)
    for note in found.notes:
        _say(note)
    with TemporaryDirectory(prefix="headway-test-") as folder:
        code = BundleCode(Path(folder).resolve() / root.name, found.files, found)
        with importing(code):
            yield code


@contextmanager
def opened_dag(file: Path, dag_id: str) -> Iterator[tuple[DAG, BundleCode, str]]:
    """Load a DAG from the files that a worker would have; give it, these, and its file's path.

    Say at the end which files it opened besides.
    """
    root = bundle_root(file.absolute())
    path = file.absolute().relative_to(root).as_posix()
    with version_code(root, path) as code:
        found = load_dags(code.root / path, code.root, cron_semantics(root), code)
        dags = {dag.dag_id: dag for dag in found}
        if dag_id not in dags:
            known = ", ".join(sorted(dags)) or "none"
            raise DagNotFoundError(f"{file} makes no DAG {dag_id!r}; it makes: {known}.")
        yield dags[dag_id], code, path
        tell_opened(code, path)


def load_dags(
    file: Path, root: Path, semantics: CronSemantics | None, code: BundleCode | None = None
) -> list[DAG]:
    """Return the DAGs that a file makes; DagError with the text of an import error if it fails.

    Connections and variables that the file reads at its top level are those of the environment.
    """
    finder.install(configuration.read(ParserSettings).airflow_layer)
    try:
        return load_dag_file(file, root, code, semantics, provided_secrets())
    except HeadwayError as error:
        raise import_error(file.relative_to(root), str(error)) from None
    except Exception as error:
        shown = traceback_of(error, __file__) or message_of(error)
        raise import_error(file.relative_to(root), shown) from error


def import_error(path: PurePath, said: str) -> DagError:
    """Return the error of a DAG file that cannot be imported, as a parser words it."""
    return DagError(f"{path} cannot be imported:\n{said}")


def dag_files(folder: Path) -> list[Path]:
    """Return the files below a folder that a parser takes for DAG files."""
    root, safe_mode = bundle_root(folder), configuration.read(ParserSettings).safe_mode
    found = [root / path for path in _parser().dag_files(root, safe_mode=safe_mode)]
    return [file for file in found if file.is_relative_to(folder)]


def check_dag_file(file: Path) -> tuple[str, ...]:
    """Have a parser read the file, in a process of its own; return its warnings.

    DagError with the text of an import error, if the file or a DAG of it is refused.
    """
    root = bundle_root(file)
    path = file.relative_to(root).as_posix()
    notes: tuple[str, ...] = _version_files(root, path).notes
    return notes


def code_on_disk(dag: DAG | None) -> BundleCode:
    """Return the files of the version that the DAG's file would make now, where they lie.

    They are for the Python workers of Spark: this process has imported them already.  A DAG
    that no file has made has none.
    """
    if dag is None or dag.file is None:
        return BundleCode(Path("/nonexistent"), {}, _NoFiles())
    root = bundle_root(dag.file.path)
    path = dag.file.path.relative_to(root).as_posix()
    found = _version_files(root, path)
    return BundleCode(root, found.files, found)


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
