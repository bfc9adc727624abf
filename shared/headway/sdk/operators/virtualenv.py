"""Operators that call a function in another Python: that of a virtual environment, or any."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from headway.domain.arguments import encode_argument
from headway.domain.errors import DagError
from headway.sdk.authoring.python_operator import PythonOperator
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.exceptions import AirflowException, AirflowSkipException
from headway.sdk.operators.bash import exit_codes
from headway.sdk.operators.branch import BaseBranchOperator
from headway.sdk.programs.source import check_alone, source_of
from headway.sdk.running.context import ASKED_NAMES, Context
from headway.sdk.values import checks
from headway.sdk.values.signatures import signature, takes

if TYPE_CHECKING:
    from headway.sdk.programs.venvs import VenvRequest

OBJECTS: Final = frozenset(
    {
        "conn",
        "dag",
        "dag_run",
        "macros",
        "spark",
        "task",
        "task_instance",
        "task_state_store",
        "ti",
        "var",
    }
)
"""Names of the context that cannot be passed to another process."""

PASSED: Final = ASKED_NAMES - OBJECTS

_VENV_OPTIONS: Final = (
    "requirements",
    "python_version",
    "system_site_packages",
    "pip_install_options",
    "index_urls",
    "venv_cache_path",
)


class OtherPythonOptions(TaskOptions, total=False):
    """What a task takes, besides its function, that runs in another Python."""

    op_args: Collection[Any]
    op_kwargs: Mapping[str, Any] | None
    string_args: Iterable[str]
    env_vars: Mapping[str, str] | None
    inherit_env: bool
    expect_airflow: bool
    skip_on_exit_code: int | Collection[int] | None


class VirtualenvOptions(OtherPythonOptions, total=False):
    """What a task takes, besides its function, that runs in a virtual environment."""

    requirements: str | Iterable[str] | None
    python_version: str | None
    system_site_packages: bool
    pip_install_options: Iterable[str] | None
    index_urls: str | Iterable[str] | None
    venv_cache_path: str | os.PathLike[str] | None


class OtherPythonOperator(PythonOperator):
    """Call a function in another Python, by its source, with arguments and result as JSON.

    The function sees nothing of what is around it in the DAG file; it imports what it needs.
    Dates and durations among its arguments are those of Python's own datetime.
    """

    def __init__(
        self,
        *,
        task_id: str,
        python_callable: Callable[..., Any],
        **options: Unpack[OtherPythonOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.string_args = [str(text) for text in given.pop("string_args", ())]
        self.env_vars = given.pop("env_vars", None) or {}
        self.inherit_env = given.pop("inherit_env", True)
        self.expect_airflow = given.pop("expect_airflow", False)
        codes = given.pop("skip_on_exit_code", None)
        super().__init__(task_id=task_id, python_callable=python_callable, **given)
        where = self.where
        check_alone(python_callable, where)
        self._check_asked()
        checks.mapping(self.env_vars, f"{where}: env_vars")
        checks.flag(self.inherit_env, f"{where}: inherit_env")
        checks.flag(self.expect_airflow, f"{where}: expect_airflow")
        self.skip_on_exit_code = exit_codes(codes, f"{where}: skip_on_exit_code")

    def execute(self, context: Context) -> Any:
        """Call the function there."""
        context["templates_dict"] = self.templates_dict
        with self.interpreter(context) as python:
            return self._call(python, self._asked(context))

    def interpreter(self, context: Context) -> AbstractContextManager[str]:
        """Give the path of the Python."""
        raise NotImplementedError

    def _call(self, python: str, asked: Mapping[str, Any]) -> Any:
        from shutil import copyfile
        from tempfile import TemporaryDirectory

        from headway.sdk.programs.shell import run_program

        source = source_of(self.python_callable)
        call = {
            "name": source.name,
            "source": source.text,
            "file": source.file,
            "line": source.line,
            "args": encode_argument(self.op_args, f"{self.where}: op_args"),
            "kwargs": encode_argument({**asked, **self.op_kwargs}, f"{self.where}: op_kwargs"),
            "string_args": self.string_args,
            "expect_airflow": self.expect_airflow,
        }
        with TemporaryDirectory(prefix="headway-call-") as name:
            folder = Path(name)
            program, given, left = (folder / it for it in ("call.py", "call.json", "result.json"))
            copyfile(_program(), program)
            given.write_text(json.dumps(call), encoding="utf-8")
            command = [python, str(program), str(given), str(left)]
            code, _last = run_program(command, self._environment(), None)
            return self._result(code, left)

    def _result(self, code: int, left: Path) -> Any:
        if code in self.skip_on_exit_code:
            raise AirflowSkipException(f"The function exited with {code}, which skips the task.")
        said = json.loads(left.read_text(encoding="utf-8")) if left.is_file() else {}
        if "error" in said:
            raise AirflowException(said["error"])
        if code or "result" not in said:
            raise AirflowException(f"The function's process exited with {code}, without a result.")
        return said["result"]

    def _environment(self) -> dict[str, str]:
        # This is what a program inherits from us, not a setting that we read.
        found = dict(os.environ) if self.inherit_env else {}  # noqa: TID251
        for name in ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV"):
            found.pop(name, None)
        file = self.dag.file if self.dag else None
        if file is not None:
            if file.code is not None:
                file.code.place(everything=True)
            found["PYTHONPATH"] = os.pathsep.join((str(file.path.parent), str(file.bundle_root)))
        return found | {name: str(value) for name, value in self.env_vars.items()}

    def _asked(self, context: Context) -> dict[str, Any]:
        """Return what the function asks of the context and is not given."""
        taken = takes(self.python_callable)
        assert taken is not None
        given = {*taken.positional[: len(self.op_args)], *self.op_kwargs}
        names = {name for name in taken.named if name in PASSED}
        if taken.others:
            names |= PASSED & context.keys()
        return {name: context[name] for name in sorted(names - given)}

    def _check_asked(self) -> None:
        """Refuse a function that can only be called with what stays here."""
        taken = takes(self.python_callable)
        assert taken is not None
        given = {*taken.positional[: len(self.op_args)], *self.op_kwargs}
        parameters = signature(self.python_callable).parameters
        for name in taken.named:
            needed = parameters[name].default is parameters[name].empty
            if name in OBJECTS and needed and name not in given:
                raise DagError(
                    f"{self.where}: the function runs in another Python, where there is no "
                    f"{name!r}; pass what it needs of that, such as op_kwargs="
                    '{"run_id": "{{ run_id }}"}.'
                )


class PythonVirtualenvOperator(OtherPythonOperator):
    """Call a function in a virtual environment, which is made once and kept.

    `requirements` are lines of a requirements file.  It is made by uv if that is on the PATH, else
    by venv and pip, and kept in `venv_cache_path`, or in a folder of the worker.
    """

    template_fields: ClassVar[Sequence[str]] = (
        *PythonOperator.template_fields,
        "requirements",
        "index_urls",
        "venv_cache_path",
    )
    operator_name = "python_virtualenv"

    def __init__(
        self,
        *,
        task_id: str,
        python_callable: Callable[..., Any],
        **options: Unpack[VirtualenvOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        own: dict[str, Any] = {name: given.pop(name) for name in _VENV_OPTIONS if name in given}
        super().__init__(task_id=task_id, python_callable=python_callable, **given)
        where = self.where
        self.requirements = self._texts(own, "requirements") or []
        if any(line.endswith(".txt") and "\n" not in line for line in self.requirements):
            raise DagError(
                f"{where}: requirements are the lines themselves, and no file; write "
                'requirements=["numpy==2.1"].'
            )
        version = own.get("python_version")
        self.python_version = checks.optional(checks.text)(version, f"{where}: python_version")
        site = own.get("system_site_packages", True)
        self.system_site_packages = checks.flag(site, f"{where}: system_site_packages")
        self.pip_install_options = self._texts(own, "pip_install_options") or []
        self.index_urls = self._texts(own, "index_urls")
        kept = own.get("venv_cache_path")
        self.venv_cache_path = None if kept is None else os.fspath(kept)

    @contextmanager
    def interpreter(self, context: Context) -> Iterator[str]:
        """Give the Python of the virtual environment."""
        from headway.sdk.programs.venvs import usable, virtual_environment

        folder = context.runtime.virtualenvs
        if self.venv_cache_path is not None:
            folder = Path(self.venv_cache_path)
        with virtual_environment(self._wanted(), folder and usable(folder)) as python:
            yield str(python)

    def _wanted(self) -> "VenvRequest":
        from headway.sdk.programs.venvs import VenvRequest

        lines = (line.strip() for text in self.requirements for line in text.splitlines())
        return VenvRequest(
            requirements=tuple(sorted({line for line in lines if line})),
            python_version=self.python_version,
            system_site_packages=self.system_site_packages,
            pip_install_options=tuple(self.pip_install_options),
            index_urls=None if self.index_urls is None else tuple(self.index_urls),
        )

    def _texts(self, own: Mapping[str, Any], name: str) -> list[str] | None:
        value = own.get(name)
        if value is None or isinstance(value, str):
            return None if value is None else [value]
        return [checks.text(item, f"{self.where}: {name}") for item in value]


class ExternalPythonOperator(OtherPythonOperator):
    """Call a function in the Python whose path is `python`, which is on the worker."""

    template_fields: ClassVar[Sequence[str]] = (*PythonOperator.template_fields, "python")
    operator_name = "external_python"

    def __init__(self, *, task_id: str, python: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(task_id=task_id, **options)
        self.python = checks.text(os.fspath(python), f"{self.where}: python")

    @contextmanager
    def interpreter(self, context: Context) -> Iterator[str]:  # noqa: ARG002
        """Give the path."""
        from shutil import which

        if which(self.python) is None:
            raise AirflowException(
                f"There is no Python {self.python} on the worker; install it there."
            )
        yield self.python


class BranchPythonVirtualenvOperator(BaseBranchOperator, PythonVirtualenvOperator):
    """Call a function in a virtual environment that returns which tasks to go on with."""

    operator_name = "branch_virtualenv"

    def choose_branch(self, context: Context) -> Any:
        """Call the function."""
        return PythonVirtualenvOperator.execute(self, context)


class BranchExternalPythonOperator(BaseBranchOperator, ExternalPythonOperator):
    """Call a function in another Python that returns which tasks to go on with."""

    operator_name = "branch_external_python"

    def choose_branch(self, context: Context) -> Any:
        """Call the function."""
        return ExternalPythonOperator.execute(self, context)


def _program() -> Path:
    return Path(__file__).parents[1] / "programs" / "called.py"
