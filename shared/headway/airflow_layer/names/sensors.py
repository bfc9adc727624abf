"""`airflow.sensors` and the sensors of the standard provider."""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import LAYER, modules, of

_SENSORS: Final = f"{LAYER}.tolerance.sensors"

BASES: Final = of(
    _SENSORS, "BaseSensorOperator=LayerSensor BaseSensor=LayerSensor PokeReturnValue poke_mode_only"
)

_KINDS: Final = """
    bash           BashSensor
    date_time      DateTimeSensor DateTimeSensorAsync
    external_task  ExternalTaskMarker ExternalTaskSensor ExternalTaskSensorLink
    filesystem     FileSensor
    python         PythonSensor
    time           TimeSensor TimeSensorAsync
    time_delta     TimeDeltaSensor TimeDeltaSensorAsync WaitSensor
    weekday        DayOfWeekSensor
"""
_OLD: Final = """
    airflow.contrib.sensors.bash_sensor     BashSensor
    airflow.contrib.sensors.file_sensor     FileSensor
    airflow.contrib.sensors.python_sensor   PythonSensor
    airflow.contrib.sensors.weekday_sensor  DayOfWeekSensor
    airflow.sensors.bash_sensor             BashSensor
    airflow.sensors.date_time_sensor        DateTimeSensor
    airflow.sensors.external_task_sensor    ExternalTaskMarker ExternalTaskSensor
    airflow.sensors.file_sensor             FileSensor
    airflow.sensors.python_sensor           PythonSensor
    airflow.sensors.time_delta_sensor       TimeDeltaSensor
    airflow.sensors.time_sensor             TimeSensor
    airflow.sensors.weekday_sensor          DayOfWeekSensor
"""


def _rows(table: str, *folders: str) -> dict[str, Mapping[str, str]]:
    lines = [line.split() for line in table.strip().splitlines()]
    return {
        f"{folder}{module}": of(_SENSORS, " ".join(names))
        for folder in folders
        for module, *names in lines
    }


MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **_rows(_KINDS, "airflow.sensors.", "airflow.providers.standard.sensors."),
    **_rows(_OLD, ""),
    **modules(
        "airflow.sensors.base airflow.sensors.base_sensor_operator airflow.sdk.bases.sensor", BASES
    ),
    "airflow.operators.sensors": {
        **BASES,
        **of(_SENSORS, "ExternalTaskSensor TimeDeltaSensor TimeSensor"),
    },
}
"""Sensors of provider packages are in the table of what moved there."""
