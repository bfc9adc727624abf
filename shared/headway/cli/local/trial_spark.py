"""Spark for a process that runs tasks itself."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Final

from headway.domain.errors import EmbeddedError
from headway.runtime.settings import configuration
from headway.sdk.bundle.bundle_code import BundleCode

SPARK: Final = "headway.spark"
"""The entry point that gives Spark to a process that runs tasks itself."""


@dataclass(slots=True)
class InProcessSpark:
    """Spark for this process; its server starts when a task first asks for it.

    `variables` are added to the environment of the server.
    """

    ending: ExitStack
    variables: Mapping[str, str] = field(default_factory=dict)
    _spark: Any = None

    def access(self, key: str, code: BundleCode, stack: ExitStack) -> Any:
        """Return Spark for one task, closed with `stack`; Python workers of it get `code`."""
        if self._spark is None:
            found = tuple(entry_points(group=SPARK))
            if not found:
                raise EmbeddedError("No worker is installed here, which brings Spark.")
            environment = {**configuration.environment(), **self.variables}
            opened: AbstractContextManager[Any] = found[0].load()(environment)
            self._spark = self.ending.enter_context(opened)
        access = self._spark.access(f"test-{key}", code)
        stack.callback(access.close)
        return access
