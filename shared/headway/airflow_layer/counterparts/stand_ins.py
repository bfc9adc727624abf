"""Classes that DAG files name in annotations and as bases, and that do nothing here."""

from typing import Any

from headway.airflow_layer.gaps import error_of
from headway.sdk.context import task_instance
from headway.sdk.exceptions import AirflowException


class ModelType(type):
    """The type of a class of Airflow's models: it knows its objects, and has no queries."""

    kept: type

    def __instancecheck__(cls, instance: object) -> bool:
        """Return whether a value is what the context has under that name."""
        return isinstance(instance, cls.kept)

    def __getattr__(cls, name: str) -> Any:
        """Refuse to look into the database."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AirflowException(str(error_of("airflow.models", f"{cls.__name__}.{name}")))

    def __call__(cls, *_args: object, **_kwargs: object) -> Any:
        """Refuse to make one."""
        raise AirflowException(str(error_of("airflow.models", f"{cls.__name__}()")))


def _stand_in(kept: type) -> type:
    return ModelType(kept.__name__, (), {"kept": kept, "__doc__": kept.__doc__})


DagRun = _stand_in(task_instance.DagRun)
TaskInstance = _stand_in(task_instance.TaskInstance)


class BaseOperatorLink:
    """A link of an operator's to a page elsewhere; Headway shows none."""

    name: str = ""
    operators: tuple[type, ...] = ()

    def get_link(self, operator: object, *, ti_key: object) -> str:
        """Return the address."""
        raise NotImplementedError
