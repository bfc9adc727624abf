"""Call one function in another Python.  It is started as a program there, and nothing imports it.

Its arguments are a file with the call, and a file for what comes of it, both in JSON.  It needs
Python 3.8 and nothing else.
"""

from __future__ import annotations

import json
import linecache
import sys
import traceback
import types
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable  # noqa: UP035 - Python 3.8 knows no other
from uuid import UUID

TAG = "__headway__"
DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "datetime": lambda it: datetime.fromisoformat(it["value"]),
    "date": lambda it: date.fromisoformat(it["value"]),
    "path": lambda it: Path(it["value"]),
    "decimal": lambda it: Decimal(it["value"]),
    "uuid": lambda it: UUID(it["value"]),
    "time": lambda it: time.fromisoformat(it["value"]),
    "timedelta": lambda it: timedelta(seconds=it["seconds"]),
    "set": lambda it: {decoded(item) for item in it["items"]},
}


def decoded(value: Any) -> Any:
    """Return an argument that was written as data."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, dict):
        if TAG in value:
            return DECODERS[value[TAG]](value)
        return {name: decoded(item) for name, item in value.items()}
    return value


class TaskModule(InspectLoader):
    """A module that has the function, in the lines that it has in the DAG file.

    Annotations may name what only the DAG file has imported: they are not looked at.
    """

    def __init__(self, call: dict[str, Any]) -> None:
        before = "\n" * max(call["line"] - 1, 1)
        self.source = f"from __future__ import annotations{before}{call['source']}"
        self.path = call["file"]

    def get_source(self, fullname: str) -> str:  # noqa: ARG002
        """Return the source, for tracebacks as well."""
        return self.source

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002
        """Compile the source as a part of the DAG file."""
        return self.source_to_code(self.source, self.path)


def function_of(call: dict[str, Any]) -> Callable[..., Any]:
    """Define the function."""
    loader = TaskModule(call)
    module = types.ModuleType("headway_task")
    sys.modules[module.__name__] = module
    module.__spec__ = ModuleSpec(module.__name__, loader)
    module.__dict__["virtualenv_string_args"] = call["string_args"]
    lines = loader.source.splitlines(keepends=True)
    linecache.cache[loader.path] = len(loader.source), None, lines, loader.path
    loader.exec_module(module)
    function: Callable[..., Any] = module.__dict__[call["name"]]
    return function


def call_function(call: dict[str, Any]) -> dict[str, Any]:
    """Call the function; return its result, or its error, which it has printed."""
    if call["expect_airflow"] and not (find_spec("headway") or find_spec("airflow")):
        print("Neither headway nor airflow is installed in this Python.", flush=True)  # noqa: T201
    args, kwargs = decoded(call["args"]), decoded(call["kwargs"])
    try:
        result = function_of(call)(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - here the function is isolated
        below = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, below)
        return {"error": f"{type(error).__name__}: {error}"}
    return {"result": result}


def main() -> int:
    """Read the call, and write what comes of it."""
    given, left = Path(sys.argv[1]), Path(sys.argv[2])
    said = call_function(json.loads(given.read_text(encoding="utf-8")))
    try:
        text = json.dumps(said, allow_nan=False)
    except (TypeError, ValueError) as error:
        said = {"error": f"What the function returned is not JSON: {error}"}
        text = json.dumps(said)
    left.write_text(text, encoding="utf-8")
    return 1 if "error" in said else 0


if __name__ == "__main__":
    sys.exit(main())
