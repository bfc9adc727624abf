"""A test of each DAG file: it loads, and its DAGs make sense."""

import warnings
from collections.abc import Generator, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from headway.cli.local.trial_code import check_dag_file, dag_files
from headway.domain.errors import HeadwayError


class DagFileWarning(UserWarning):
    """The parser accepts a DAG file, and has something to say about it."""


def dags_folder(config: pytest.Config) -> Path:
    """Return the folder of DAG files, which `--headway-dags` names."""
    folder = config.invocation_params.dir / str(config.getoption("--headway-dags"))
    if not folder.is_dir():
        raise pytest.UsageError(f"There is no folder {folder}; name it with --headway-dags.")
    return folder.resolve()


class DagFileTests:
    """Collects DAG files wherever pytest comes upon them; without paths, the whole folder."""

    def __init__(self, config: pytest.Config) -> None:
        self.folder = dags_folder(config)
        self.files = frozenset(dag_files(self.folder))
        places = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
        given = config.args_source is pytest.Config.ArgsSource.ARGS
        if not given and not any(self.folder.is_relative_to(place) for place in places):
            config.args.append(str(self.folder))

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Take a DAG file; it is a module of tests only if it has the name of one.

        Without that, pytest would also import each DAG file that is named as a path.
        """
        found = yield
        if file_path.resolve() not in self.files:
            return found
        names = parent.config.getini("python_files")
        if not any(fnmatch(file_path.name, name) for name in names):
            found = [each for each in found if not isinstance(each, pytest.Module)]
        return [*found, DagFileCollector.from_parent(parent, path=file_path)]


class DagFileCollector(pytest.File):
    """A DAG file, which has one test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the test."""
        yield DagFileItem.from_parent(self, name="loads")


class DagFileItem(pytest.Item):
    """The test of a DAG file: a parser reads it, in a process of its own."""

    def runtest(self) -> None:
        """Have the file read; what the parser has to say becomes warnings."""
        for note in check_dag_file(self.path.resolve()):
            warnings.warn(DagFileWarning(note), stacklevel=1)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what a parser would show, without a traceback of Headway's."""
        if isinstance(excinfo.value, HeadwayError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test stands, and what it is called."""
        return self.path, None, "the DAG file loads"
