"""SparkSubmitOperator: run an application file with spark-submit."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final, TypeAlias, Unpack

from headway.domain.errors import DagError
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.context.templates import is_static
from headway.sdk.running.context import Context
from headway.sdk.running.task_runtime import SparkApplication
from headway.sdk.values import checks

Paths: TypeAlias = Sequence[str] | str | None


class SparkSubmitOptions(TaskOptions, total=False):
    """What SparkSubmitOperator takes besides the application; lists may be text with commas."""

    application_args: Sequence[Any] | XComArg
    conf: Mapping[str, Any] | None
    py_files: Paths
    jars: Paths
    packages: Paths
    exclude_packages: Paths
    repositories: Paths
    files: Paths
    archives: Paths
    name: str | None
    java_class: str | None
    driver_class_path: str | None
    num_executors: int | str | None
    executor_cores: int | str | None
    total_executor_cores: int | str | None
    executor_memory: str | None
    driver_cores: int | str | None
    driver_memory: str | None
    yarn_queue: str | None
    env_vars: Mapping[str, Any] | XComArg | None
    principal: str | None
    keytab: str | None
    proxy_user: str | None
    deploy_mode: str | None
    verbose: bool
    status_poll_interval: float | timedelta
    conn_id: str | None


class SparkSubmitOperator(BaseOperator):
    """Run `application` with spark-submit and wait for it.

    A relative path that exists beside the DAG file is taken from there, in the
    version of the code that the run has.  In cluster mode the driver runs on the cluster:
    it outlives the attempt, and the next one finds it again instead of starting another.
    A subclass with an `execute` of its own may do without an application.
    """

    template_fields = tuple(field.name for field in fields(SparkApplication))
    operator_name = "spark_submit"

    def __init__(
        self,
        *,
        task_id: str,
        application: str | XComArg | None = None,
        **options: Unpack[SparkSubmitOptions],
    ) -> None:
        given: dict[str, Any] = {"application": application, **options}
        for name in self.template_fields:
            setattr(self, name, given.pop(name, None))
        super().__init__(task_id, **given)
        if application is None and type(self).execute is not SparkSubmitOperator.execute:
            return
        if is_static(self._given()):
            self.spark_application()

    def execute(self, context: Context) -> None:
        """Hand the application to the supervisor, which runs it."""
        context.runtime.submit_spark(self.spark_application())

    def spark_application(self) -> SparkApplication:
        """Return the application, with every argument checked; DagError when there is none."""
        if self._given()["application"] is None:
            raise DagError(f"{self.where}: there is no application; pass application= with a file.")
        checked = {
            name: check(value, f"{self.where}: {name}")
            for name, check in CHECKS.items()
            if (value := self._given()[name]) is not None
        }
        for name in FILES & checked.keys():
            checked[name] = self._located(checked[name])
        if "principal" in checked and "proxy_user" in checked:
            raise DagError(
                f"{self.where}: spark-submit takes principal or proxy_user, not both; "
                "leave one out."
            )
        return SparkApplication(**checked)

    @classmethod
    def files_among(cls, arguments: Mapping[str, object]) -> Sequence[str]:
        """Return the paths among these arguments that are known before the task runs."""
        given = [arguments.get(name) for name in sorted(FILES)]
        paths = [path for value in given if is_static(value) for path in _paths(value)]
        return [path.partition("#")[0] for path in paths]

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.template_fields}

    def _located(self, paths: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(paths, tuple):
            return tuple(self._beside_dag_file(path) for path in paths)
        return self._beside_dag_file(paths)

    def _beside_dag_file(self, path: str) -> str:
        file = self.dag.file if self.dag else None
        plain, mark, alias = path.partition("#")  # an archive may be given another name
        found = file.beside(plain) if file and plain else None
        return path if found is None else f"{found}{mark}{alias}"


def _paths(value: object) -> tuple[str, ...]:
    try:
        return () if value is None else _several(value, "")
    except DagError:  # told where the operator is made
        return ()


def _several(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, list | tuple):
        checks.refuse(where, "a list of strings, or text with commas", value)
    return tuple(checks.text(item, where) for item in value)


def _arguments(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        checks.refuse(where, "a list", value)
    return tuple(str(item) for item in value)


def _configuration(value: object, where: str) -> dict[str, str]:
    return {
        name: str(item).lower() if isinstance(item, bool) else str(item)
        for name, item in checks.mapping(value, where).items()
    }


def _count(value: object, where: str) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return int(checks.whole(1)(number, where))


def _verbose(value: object, where: str) -> bool:
    """Accept 1 and 0 as well, which files have from older releases of Airflow."""
    return checks.flag(bool(value) if value in (0, 1) else value, where)


def _deploy_mode(value: object, where: str) -> str:
    if value not in ("client", "cluster"):
        checks.refuse(where, "'client' or 'cluster'", value)
    return str(value)


CHECKS: Final[Mapping[str, checks.Check]] = {
    **dict.fromkeys(SparkSubmitOperator.template_fields, checks.text),
    "application_args": _arguments,
    "conf": _configuration,
    "env_vars": _configuration,
    **dict.fromkeys(
        ("py_files", "jars", "packages", "exclude_packages", "repositories", "files", "archives"),
        _several,
    ),
    **dict.fromkeys(
        ("num_executors", "executor_cores", "total_executor_cores", "driver_cores"), _count
    ),
    "deploy_mode": _deploy_mode,
    "verbose": _verbose,
    "status_poll_interval": checks.in_seconds(checks.time_limit),
}

FILES: Final = frozenset({"application", "py_files", "jars", "files", "archives", "keytab"})
"""The arguments that are paths, and may name files beside the DAG file."""
