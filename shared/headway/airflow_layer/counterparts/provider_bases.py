"""What provider packages import and derive from, so that their hooks and operators load.

A trigger made of these says that Headway has none.
"""

from typing import Any, Final, NoReturn

from headway.airflow_layer.counterparts.stand_ins import ModelType
from headway.airflow_layer.gaps import error_of
from headway.sdk.exceptions import AirflowException


class LayerTrigger:
    """What triggers derive from."""

    def __init__(self, **_: Any) -> None:
        raise error_of(type(self).__module__, type(self).__name__, of="BaseTrigger")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the trigger as data."""
        raise NotImplementedError


class BaseEventTrigger(LayerTrigger):
    """What triggers of assets derive from."""


class TriggerEvent:
    """What a trigger has seen."""

    def __init__(self, payload: Any) -> None:
        self.payload = payload


class StartTriggerArgs:
    """How an operator that defers itself at once begins."""

    def __init__(self, **given: Any) -> None:
        self.given = given


class AirflowPlugin:
    """What plugins derive from; nothing loads them."""


def clear_task_instances(*_: object, **__: object) -> NoReturn:
    """Say that tasks do not clear others."""
    raise error_of("airflow.models.taskinstance", "clear_task_instances")


def renew_from_kt(principal: str | None, keytab: str, **_: object) -> NoReturn:
    """Say that Headway renews no ticket of Kerberos."""
    raise AirflowException(
        f"Headway does not renew tickets of Kerberos, such as that of {principal!r} by {keytab!r}: "
        "leave keytab out, and have k5start or a cron job renew the worker's ticket."
    )


XCom: Final = ModelType("XCom", (), {"kept": ModelType, "__doc__": "XComs, without queries."})
XCOM_RETURN_KEY: Final = "return_value"
