"""Options of a DAG as attributes: read as they are in force, and changed by assignment."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from headway.domain.errors import DagError
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.options import DagOptions, semantics_of, specify
from headway.sdk.running.dag_param import DagParam
from headway.sdk.values import checks
from headway.sdk.values.params import UNSET, ParamsDict, as_params
from headway.sdk.values.template_options import TEMPLATE_CHECKS

if TYPE_CHECKING:
    from pathlib import Path

    from headway.domain.dag.cron_semantics import CronSemantics
    from headway.domain.dag.spec import DagSpec
    from headway.sdk.authoring.callbacks import Callbacks
    from headway.sdk.authoring.current import DagFile
    from headway.sdk.authoring.operator import BaseOperator

_DURATIONS: Final = frozenset({"dagrun_timeout", "catchup_window", "min_file_process_interval"})


class DagOption:
    """An option that is part of the DAG's specification: what is assigned changes that."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dag: "DagAttributes | None", _owner: type) -> Any:
        if dag is None:
            return self
        value = getattr(dag.spec, self.name)
        in_seconds = self.name in _DURATIONS and value is not None
        return timedelta(seconds=value) if in_seconds else value

    def __set__(self, dag: "DagAttributes", value: object) -> None:
        dag.change(self.name, value)


class TemplateOption:
    """An option that is code, and no part of the specification; it is checked all the same."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dag: "DagAttributes | None", _owner: type) -> Any:
        if dag is None:
            return self
        check = TEMPLATE_CHECKS[self.name]
        empty = False if check is checks.flag else None
        return check(dag.options.get(self.name, empty), self.name)

    def __set__(self, dag: "DagAttributes", value: object) -> None:
        dag.change(self.name, value)


class DagAttributes:
    """What a DAG tells of itself, and what may be changed after it was made."""

    dag_id: str
    options: DagOptions
    semantics_of_bundle: "CronSemantics | None"
    spec: "DagSpec"
    calls_on: "Callbacks"
    task_dict: "dict[str, BaseOperator]"
    file: "DagFile | None"

    start_date = DagOption()
    end_date = DagOption()
    catchup = DagOption()
    catchup_window = DagOption()
    overlap = DagOption()
    max_active_runs = DagOption()
    max_active_tasks = DagOption()
    max_active_tasks_per_dagrun = DagOption()
    dagrun_timeout = DagOption()
    tags = DagOption()
    description = DagOption()
    dag_display_name = DagOption()
    doc_md = DagOption()
    is_paused_upon_creation = DagOption()
    dynamic = DagOption()
    reparse_on_run = DagOption()
    min_file_process_interval = DagOption()
    template_searchpath = TemplateOption()
    user_defined_macros = TemplateOption()
    user_defined_filters = TemplateOption()
    render_template_as_native_obj = TemplateOption()
    jinja_environment_kwargs = TemplateOption()

    def change(self, option: str, value: object) -> None:
        """Give an option another value, with all checks of a DAG that is made with it."""
        options: Any = {**self.options, option: value}
        self.spec = specify(self.dag_id, options, self.semantics_of_bundle)
        self.calls_on = callbacks.of_runs(options)
        self.options = options

    @property
    def params(self) -> ParamsDict:
        """The params by their default values; what is assigned becomes part of the DAG."""
        given = as_params(self.options.get("params"), f"DAG {self.dag_id!r}: params")
        return ParamsDict(given, lambda params: self.change("params", params))

    @params.setter
    def params(self, value: object) -> None:
        self.change("params", value)

    def param(self, name: str, default: object = UNSET) -> DagParam:
        """Return the value that a run has for a param, to pass to a task.

        With a default the DAG has the param from then on.
        """
        params = self.params
        if default is not UNSET:
            params[name] = default
        elif name not in as_params(self.options.get("params"), ""):
            raise DagError(
                f"DAG {self.dag_id!r} has no param {name!r}; give it one by params={{{name!r}: …}}."
            )
        return DagParam(self.dag_id, name)

    @property
    def schedule(self) -> object:
        """What the DAG was given to say when it runs."""
        return self.options.get("schedule", self.options.get("schedule_interval"))

    @schedule.setter
    def schedule(self, value: object) -> None:
        self.change("schedule", value)

    @property
    def cron_semantics(self) -> "CronSemantics":
        """What `ds` is, if the schedule is a cron string or a preset."""
        return semantics_of(self.options, self.semantics_of_bundle, f"DAG {self.dag_id!r}")

    @cron_semantics.setter
    def cron_semantics(self, value: object) -> None:
        self.change("cron_semantics", value)

    @property
    def on_success_callback(self) -> Any:
        """What is called when a run has succeeded, as it was given."""
        return self.options.get("on_success_callback")

    @on_success_callback.setter
    def on_success_callback(self, value: Any) -> None:
        self.change("on_success_callback", value)

    @property
    def on_failure_callback(self) -> Any:
        """What is called when a run has failed, as it was given."""
        return self.options.get("on_failure_callback")

    @on_failure_callback.setter
    def on_failure_callback(self, value: Any) -> None:
        self.change("on_failure_callback", value)

    @property
    def timezone(self) -> Any:
        """The time zone of the schedule."""
        import pendulum

        return pendulum.timezone(self.spec.timezone)

    @property
    def owner(self) -> str:
        """The owners of its tasks, separated by commas."""
        return ", ".join(sorted({task.owner for task in self.task_dict.values() if task.owner}))

    @property
    def task_ids(self) -> list[str]:
        """The ids of its tasks, in the order in which they were made."""
        return list(self.task_dict)

    @property
    def task_count(self) -> int:
        """How many tasks it has."""
        return len(self.task_dict)

    @property
    def roots(self) -> "list[BaseOperator]":
        """The tasks that wait for no other."""
        return [task for task in self.task_dict.values() if not task.upstream_task_ids]

    @property
    def leaves(self) -> "list[BaseOperator]":
        """The tasks for which no other waits."""
        return [task for task in self.task_dict.values() if not task.downstream_task_ids]

    @property
    def fileloc(self) -> str:
        """The path of the DAG file; empty for a DAG that none has made."""
        return str(self._path or "")

    @property
    def folder(self) -> str:
        """The folder of the DAG file; empty for a DAG that none has made."""
        return str(self._path.parent) if self._path else ""

    @property
    def _path(self) -> "Path | None":
        return self.file.path if self.file else None

    def has_task(self, task_id: str) -> bool:
        """Tell whether it has a task of that id."""
        return task_id in self.task_dict

    def __setattr__(self, name: str, value: object) -> None:
        if name in {"timetable", "timezone"}:
            raise DagError(
                f"DAG {self.dag_id!r}: {name} cannot be changed any more; pass it to DAG()."
            )
        super().__setattr__(name, value)
