"""The object `task_state_store` of the context: what the task's next attempts find."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headway.domain.arguments import JsonValue
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.values.state_store import check_retention, check_state_key, check_state_value


@dataclass(frozen=True, slots=True)
class TaskStateStore:
    """Values that one task instance keeps by key, for all its attempts.

    No other task instance has them, and no other run.  What is set is stored when `set` returns.
    """

    runtime: TaskRuntime

    def get(self, key: str, default: Any = None) -> Any:
        """Return what is kept under `key`; `default` if that is nothing, or has expired."""
        try:
            return self.runtime.read_store(check_state_key(key))
        except KeyError:
            return default

    def set(self, key: str, value: JsonValue, *, retention: timedelta | None = None) -> None:
        """Keep a JSON value under `key`, in place of what was there.

        `retention` is for how long from now: 30 days if it is None, as long as the run if it is
        NEVER_EXPIRE.  StateStoreError, a ValueError, if the key, the value or the retention
        cannot be.
        """
        name = check_state_key(key)
        plain = check_state_value(name, value)
        self.runtime.write_store(name, plain, check_retention(name, retention))

    def delete(self, key: str) -> None:
        """Forget what is kept under `key`, if that is something."""
        self.runtime.clear_store(check_state_key(key))

    def clear(self) -> None:
        """Forget all that the task instance keeps."""
        self.runtime.clear_store(None)

    async def aget(self, key: str, default: Any = None) -> Any:
        """Do what `get` does, while other coroutines go on."""
        return await _in_thread(self.get, key, default)

    async def aset(self, key: str, value: JsonValue, *, retention: timedelta | None = None) -> None:
        """Do what `set` does, while other coroutines go on."""
        await _in_thread(self.set, key, value, retention=retention)

    async def adelete(self, key: str) -> None:
        """Do what `delete` does, while other coroutines go on."""
        await _in_thread(self.delete, key)

    async def aclear(self) -> None:
        """Do what `clear` does, while other coroutines go on."""
        await _in_thread(self.clear)


async def _in_thread(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    import asyncio  # whoever awaits has it; all others do without

    return await asyncio.to_thread(work, *given, **named)
