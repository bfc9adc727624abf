"""Sensors: a file that imports them, or derives from them, loads; none can be made."""

from collections.abc import Mapping
from typing import Any, Final

from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.tolerance.operators import TolerantOperator, TolerantOperatorType


class SensorType(TolerantOperatorType):
    """Make no sensors."""

    def __call__(cls, *_args: Any, **_given: Any) -> Any:  # noqa: N805 - a metaclass
        """Say that there are none."""
        raise error_of(cls.__module__, cls.__name__, of="BaseSensorOperator")


class LayerSensor(TolerantOperator, metaclass=SensorType):
    """What sensors derive from."""

    @classmethod
    def partial(cls, **_: Any) -> Any:
        """Say that there are none."""
        raise error_of(cls.__module__, cls.__name__, of="BaseSensorOperator")

    def poke(self, context: Mapping[str, Any]) -> Any:
        """Return whether what is waited for is there."""
        raise NotImplementedError


class PokeReturnValue:
    """What a sensor finds, and the value that it leaves."""

    def __init__(self, is_done: bool, xcom_value: Any = None) -> None:
        self.is_done = is_done
        self.xcom_value = xcom_value

    def __bool__(self) -> bool:
        return self.is_done


def poke_mode_only(sensor: type) -> type:
    """Return the sensor: there is no other mode here."""
    return sensor


STANDARD: Final = frozenset(
    {
        *("BashSensor", "DateTimeSensor", "DateTimeSensorAsync", "DayOfWeekSensor"),
        *("ExternalTaskMarker", "ExternalTaskSensor", "ExternalTaskSensorLink", "FileSensor"),
        *("PythonSensor", "TimeDeltaSensor", "TimeDeltaSensorAsync", "TimeSensor"),
        *("TimeSensorAsync", "WaitSensor"),
    }
)
"""Sensors that Airflow itself has, and what belongs to them."""


def __getattr__(name: str) -> type:
    if name not in STANDARD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = SensorType(name, (LayerSensor,), {"__module__": "airflow.sensors"})
    globals()[name] = made
    return made
