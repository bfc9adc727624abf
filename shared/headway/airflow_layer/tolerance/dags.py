"""DAG and @dag that take what Airflow's took."""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, Final, NoReturn

from headway.airflow_layer.counterparts import times
from headway.airflow_layer.differences import DELTA, INTERVAL
from headway.airflow_layer.notes import note
from headway.airflow_layer.tolerance.arguments import by_name, of_dag, of_defaults
from headway.airflow_layer.tolerance.old_arguments import OF_TASKS
from headway.domain.errors import DagError
from headway.sdk.authoring import current, definition
from headway.sdk.authoring.options import DAG_OPTIONS, DATES, SCHEDULES
from headway.sdk.authoring.task_options import REFUSED, TASK_OPTIONS
from headway.sdk.values import checks
from headway.timetables.schedule import is_cron

_MAPPINGS: Final = ("default_args", "user_defined_filters", "user_defined_macros")
_POSITIONAL: Final = ("dag_id", "description", "schedule")
_REFUSED: Final = {name for name, old in OF_TASKS.items() if old.advice is None} | REFUSED.keys()


class AirflowDag(definition.DAG):
    """A workflow, as Airflow's DAG files write one."""

    def __init__(self, dag_id: str, *args: Any, **options: Any) -> None:
        given = by_name(f"DAG {dag_id!r}", _POSITIONAL, (dag_id, *args), options)
        super().__init__(**_tidy(given))

    def cli(self) -> NoReturn:
        """Refuse to be a command of its own."""
        raise DagError(
            f"DAG {self.dag_id!r}: there is no dag.cli(); write dag.test(), or use "
            "`headway dags test FILE DAG`."
        )

    def check_default_args(self, accepted: Collection[str]) -> None:
        """Say which default_args no task takes; Airflow takes no notice of them."""
        for name in self.default_args:
            if name in _REFUSED:
                checks.known([name], accepted, f"DAG {self.dag_id!r}: default_args", REFUSED)
            elif name not in accepted:
                note(
                    f"default_args:{name}",
                    f"No task of the DAG {self.dag_id!r} takes {name}, which is in default_args: "
                    "leave it out, or give it to the task that is to have it.",
                )

    def miss_template_file(self, what: str) -> None:
        """Say which template file is missing: in Airflow the task fails, and the others run."""
        note(f"template:{what}", f"{what} Until then the task fails.")


def dag(dag_id: Any = None, *args: Any, **options: Any) -> Any:
    """Turn a function into a maker of DAGs."""
    if callable(dag_id):
        return dag()(dag_id)
    given = by_name("@dag", _POSITIONAL, (dag_id, *args), options)
    name = given.pop("dag_id")

    def decorate(function: Callable[..., object]) -> Callable[..., definition.DAG]:
        return definition.maker(AirflowDag, function, name, given)

    return decorate


def _tidy(given: Mapping[str, Any]) -> dict[str, Any]:
    options = of_dag(given, DAG_OPTIONS)
    for name in _MAPPINGS:
        value: Any = options.get(name)
        if hasattr(value, "keys") and not isinstance(value, Mapping):
            options[name] = dict(value)  # Airflow takes it as well
    if isinstance(options.get("default_args"), Mapping):
        accepted = TASK_OPTIONS | DATES
        defaults = of_defaults(options["default_args"], accepted, DAG_OPTIONS - TASK_OPTIONS)
        options["default_args"] = _with_dates(defaults)
    _note_dates(options)
    return _with_dates(options)


def _with_dates(options: dict[str, Any]) -> dict[str, Any]:
    """Return options whose dates are no text."""
    return {
        name: times.parse(value) if name in DATES and isinstance(value, str) else value
        for name, value in options.items()
    }


def _note_dates(options: Mapping[str, Any]) -> None:
    """Ask what `ds` is to mean, where Airflow 2 and 3 differ and nobody has said it."""
    schedule = next((options[name] for name in SCHEDULES if name in options), None)
    if isinstance(schedule, timedelta):
        note("delta", DELTA)
    elif is_cron(schedule) and not (options.get("cron_semantics") or current.cron_semantics()):
        note("interval", INTERVAL)


DAG = AirflowDag
