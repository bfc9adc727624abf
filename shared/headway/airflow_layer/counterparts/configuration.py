"""`airflow.configuration`: the few options that DAG files read, and no way to change them."""

import json
from typing import Any, Final

import pendulum

from headway.airflow_layer.counterparts.calls import import_string
from headway.airflow_layer.counterparts.exceptions import AirflowConfigException
from headway.airflow_layer.counterparts.installed_providers import default_of_option
from headway.sdk.authoring.current import DagFile, current_file
from headway.sdk.authoring.definition import DAG
from headway.sdk.running.context import running_context

_UNSET: Final[Any] = object()
_TRUE: Final = frozenset({"true", "t", "yes", "1", "on"})

TIMEZONE: Final = pendulum.UTC

_VALUES: Final = {
    ("core", "default_timezone"): "utc",
    ("core", "executor"): "Headway",
    ("core", "load_examples"): "False",
    ("core", "unit_test_mode"): "False",
    ("core", "default_pool_task_slot_count"): "128",
    ("operators", "default_deferrable"): "False",
    ("operators", "default_queue"): "default",
    ("operators", "default_owner"): "airflow",
    ("kubernetes_executor", "namespace"): "default",
    ("kubernetes_executor", "worker_container_repository"): "",
    ("kubernetes_executor", "worker_container_tag"): "",
}
"""Options and their values: Airflow's defaults, of things that Headway does not have as well."""


class LayerConfiguration:
    """The configuration, read only."""

    def get(self, section: str, key: str, fallback: Any = _UNSET, **_: Any) -> Any:
        """Return the text of an option, or the fallback."""
        found = _find(section.lower(), key.lower())
        if found is None and fallback is _UNSET:
            found = default_of_option(section.lower(), key.lower())
        if found is not None:
            return found
        if fallback is _UNSET:
            raise AirflowConfigException(
                f"Headway has no option [{section}] {key} of Airflow's configuration. Pass a "
                "fallback, or read a setting of your own from a file of the bundle."
            )
        return fallback

    def getboolean(self, section: str, key: str, fallback: Any = _UNSET) -> bool:
        """Return whether an option is on."""
        return str(self.get(section, key, fallback)).lower() in _TRUE

    def getint(self, section: str, key: str, fallback: Any = _UNSET) -> int:
        """Return the number that an option has."""
        return int(self.get(section, key, fallback))

    def getfloat(self, section: str, key: str, fallback: Any = _UNSET) -> float:
        """Return the number that an option has."""
        return float(self.get(section, key, fallback))

    def getlist(self, section: str, key: str, fallback: Any = _UNSET, delimiter: str = ",") -> Any:
        """Return the texts that an option lists, or the fallback."""
        found = self.get(section, key, fallback)
        return [each.strip() for each in found.split(delimiter)] if _is_text(found) else found

    def getjson(self, section: str, key: str, fallback: Any = _UNSET) -> Any:
        """Return the JSON value that an option is, or the fallback."""
        found = self.get(section, key, fallback)
        return json.loads(found) if _is_text(found) else found

    def getimport(self, section: str, key: str, fallback: Any = None) -> Any:
        """Return what an option names by module and name, or the fallback."""
        found = self.get(section, key, fallback)
        return import_string(found) if _is_text(found) else found

    def get_mandatory_value(self, section: str, key: str) -> str:
        """Return the text of an option."""
        return str(self.get(section, key))

    def has_option(self, section: str, key: str) -> bool:
        """Return whether there is such an option."""
        return _find(section.lower(), key.lower()) is not None

    def set(self, section: str, key: str, value: object) -> None:
        """Refuse: a DAG file changes no setting."""
        raise AirflowConfigException(
            f"A DAG file cannot set [{section}] {key} to {value!r}; Headway's settings are those "
            "of its services (headway settings)."
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _find(section: str, key: str) -> str | None:
    if (section, key) == ("core", "dags_folder"):
        file = current_file() or _file_of_running_task()
        return None if file is None else str(file.bundle_root)
    return _VALUES.get((section, key))


def _file_of_running_task() -> DagFile | None:
    context = running_context()
    dag: DAG | None = None if context is None else context.get("dag")
    return None if dag is None else dag.file


conf: Final = LayerConfiguration()
get, getboolean, getint, getfloat = conf.get, conf.getboolean, conf.getint, conf.getfloat


def __getattr__(name: str) -> str:
    if name in ("DAGS_FOLDER", "AIRFLOW_HOME"):  # Airflow's home holds the folder of DAGs
        return str(conf.get("core", "dags_folder"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
