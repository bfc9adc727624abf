"""What a check of a DAG file gives in the place of connections and variables without a value."""

from dataclasses import dataclass, field
from typing import Any, Final

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind

TEXT: Final = "1"
"""A text that is a number, JSON and a part of an id, as files may need any of them."""


class StandInObject(dict[str, Any]):
    """What a variable holds as JSON: an object that has every key that is asked for."""

    def __missing__(self, key: str) -> str:
        return TEXT


@dataclass(slots=True)
class StandIns:
    """Values that stand in, so that a check can look at the rest of the file; `names` has whose."""

    names: list[str] = field(default_factory=list)

    def connection(self, conn_id: str) -> Connection:
        """Return a connection of that id with a text in each field."""
        self._note(SecretKind.CONNECTION, conn_id)
        return Connection(
            conn_id=conn_id,
            conn_type="generic",
            host=TEXT,
            login=TEXT,
            password=TEXT,
            schema=TEXT,
            port=1,
            extra={},
        )

    def variable(self, key: str, *, as_json: bool) -> str | StandInObject:
        """Return a text, or an object for what is read as JSON."""
        self._note(SecretKind.VARIABLE, key)
        return StandInObject() if as_json else TEXT

    def _note(self, kind: SecretKind, name: str) -> None:
        if (noted := f"{kind}:{name}") not in self.names:
            self.names.append(noted)
