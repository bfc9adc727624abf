"""What provider packages import and derive from, so that their hooks and operators load.

A trigger made of these says that Headway has none.
"""

import inspect
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
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


class TaskDeferred(BaseException):
    """What an operator raises that defers itself; nothing of Headway's raises it."""


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


def get_components(principal: str | None) -> list[str] | None:
    """Return service, host and realm of a principal of Kerberos: `service/host@REALM`."""
    return re.split(r"[/@]", principal) if principal else None


def replace_hostname_pattern(components: Sequence[str], host: str | None = None) -> str:
    """Return the principal of these parts for a host, by default for this one."""
    name = socket.getfqdn() if host in (None, "", "0.0.0.0") else str(host)  # noqa: S104
    return f"{components[0]}/{name.lower()}@{components[2]}"


def pod_mutation_hook(pod: object) -> None:
    """Leave the pod as it is: Headway has no policy for pods."""


def is_async_callable(func: Any) -> bool:
    """Return whether a function, or what a partial one calls, is a coroutine function."""
    while isinstance(func, partial):
        func = func.func
    return inspect.iscoroutinefunction(func)


class MovedNames(ModuleType):
    """A module of a provider package whose names have moved: they come from the new modules."""

    def __init__(self, name: str, targets: Mapping[str, str]) -> None:
        super().__init__(name)
        self._targets = targets

    def __getattr__(self, name: str) -> Any:
        """Return what has moved; AttributeError for any other name."""
        if name.startswith("_") or name not in self._targets:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, _, attribute = self._targets[name].rpartition(".")
        return getattr(import_module(home), attribute)


def add_deprecated_classes(
    module_imports: Mapping[str, Mapping[str, str]], package: str, *_: object, **__: object
) -> None:
    """Give a package modules by their old names: `{module: {name: "new.module.Name"}}`."""
    for module, targets in module_imports.items():
        whole = f"{package}.{module}"
        sys.modules.setdefault(whole, MovedNames(whole, targets))


XCom: Final = ModelType("XCom", (), {"kept": ModelType, "__doc__": "XComs, without queries."})
