"""BaseHook and Variable, with what hooks and files of Airflow call on them."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from headway.airflow_layer.counterparts.connections import LayerConnection
from headway.sdk.authoring.current import current_file
from headway.sdk.context import secrets
from headway.sdk.running.context import running_context

_UNSET: Final[Any] = object()


class LayerHook(secrets.BaseHook):
    """What reaches something outside, by a connection."""

    def __init__(self, logger_name: str | None = None) -> None:
        super().__init__()
        self._logger_name = logger_name

    @property
    def log(self) -> logging.Logger:
        """The logger of the name that the hook was given, or of its class."""
        name = getattr(self, "_logger_name", None)  # a hook may not call this constructor
        return logging.getLogger(name) if name else super().log

    @classmethod
    def get_connection(cls, conn_id: str) -> Any:
        """Return the connection of that id, if the task's DAG is granted it."""
        return LayerConnection.of(super().get_connection(conn_id))

    @classmethod
    async def aget_connection(cls, conn_id: str) -> Any:
        """Return the connection of that id; other coroutines go on in the meantime."""
        return await asyncio.to_thread(cls.get_connection, conn_id)

    @classmethod
    def get_hook(cls, conn_id: str, hook_params: Mapping[str, Any] | None = None) -> Any:
        """Return the hook that a provider package has for that connection."""
        return cls.get_connection(conn_id).get_hook(hook_params=hook_params)

    def get_conn(self) -> Any:
        """Return what the hook reaches things by."""
        raise NotImplementedError(f"{type(self).__name__} must define get_conn(self).")

    @classmethod
    def get_connection_form_widgets(cls) -> dict[str, Any]:
        """Return no fields: Headway has no form for connections."""
        return {}

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return nothing: Headway has no form for connections."""
        return {}


class FSHook(LayerHook):
    """Knows a folder: the `path` in the extra of a connection."""

    conn_type = "fs"

    def __init__(self, fs_conn_id: str = "fs_default", **named: Any) -> None:
        super().__init__(**named)
        self.conn = self.get_connection(fs_conn_id)
        self.basepath: str = self.conn.extra_dejson.get("path", "")

    def get_conn(self) -> None:
        """Return nothing: there is nothing to connect to."""

    def get_path(self) -> str:
        """Return the folder; "" if the connection names none."""
        return self.basepath


class LayerVariable(secrets.Variable):
    """The variables that the task's DAG is granted; `default_var` is Airflow 2's `default`."""

    @staticmethod
    def get(
        key: str,
        default: Any = _UNSET,
        deserialize_json: bool = False,
        *,
        default_var: Any = _UNSET,
    ) -> Any:
        """Return the variable, or the default if there is no such variable."""
        given = default if default_var is _UNSET else default_var
        if given is not _UNSET and _is_of_old_version():
            return given
        defaults = () if given is _UNSET else (given,)
        return secrets.Variable.get(key, *defaults, deserialize_json=deserialize_json)


def _is_of_old_version() -> bool:
    """Tell whether a task loads the file of a version that has read nothing.

    Former releases made such versions by the defaults that the file gives.
    """
    file = current_file()
    return file is not None and file.secrets is None and running_context() is None
