"""How the child that parses a file reads connections and variables: it asks its parser for them."""

from dataclasses import dataclass, field
from socket import socket
from threading import Lock

from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.variable import SecretKind
from headway.runtime.processes.frames import receive_frame, send_frame
from headway.sdk.exceptions import RefusedException
from headway.sdk.running.file_secrets import FileSecrets, RefusedSecrets

ASKED, REFUSED = "asked", "refused"
"""Where a child gets them: from its parser, or not at all."""


@dataclass(slots=True)
class ParserSecrets:
    """The parser at the other end of the channel, which goes by the grants of the file's bundle."""

    channel: socket
    _asking: Lock = field(default_factory=Lock)

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection, None if there is none; RefusedException without the grant."""
        text = self._ask(SecretKind.CONNECTION, conn_id)
        return None if text is None else Connection.from_json(conn_id, text)

    def get_variable(self, key: str) -> str | None:
        """Return the text of a variable, None if there is none; errors as above."""
        return self._ask(SecretKind.VARIABLE, key)

    def _ask(self, kind: SecretKind, name: str) -> str | None:
        with self._asking:  # a file may have threads, and answers carry no name
            send_frame(self.channel, {"ask": str(kind), "name": check_key(kind, name)})
            answer = receive_frame(self.channel)
        if answer is None:
            raise ConnectionError("The parser has gone.")
        if "error" in answer:
            raise RefusedException(answer["error"])
        text: str | None = answer["text"]
        return text


def secrets_of(where: object, bundle: str, channel: socket) -> FileSecrets:
    """Return what a file of that bundle may read while it is parsed.

    A process that was forked for one file alone has them itself.
    """
    if isinstance(where, FileSecrets):
        return where
    if where == ASKED:
        return FileSecrets(ParserSecrets(channel))
    return refused_secrets(bundle)


def refused_secrets(bundle: str) -> FileSecrets:
    """Return what refuses all, as where the settings of that bundle allow nothing."""
    return FileSecrets(RefusedSecrets(lambda kind, name: _not_allowed(bundle, kind, name)))


def _not_allowed(bundle: str, kind: SecretKind, name: str) -> str:
    template = f"conn.{name}.host" if kind is SecretKind.CONNECTION else f"var.value.{name}"
    return (
        f"The file reads the {kind} {name!r} while it is parsed, which the settings of bundle "
        f"{bundle!r} do not allow. Read it inside of a task's function, or write "
        f"{{{{ {template} }}}} in an argument of a task. Or set parse_time_secrets = true for the "
        f"bundle, and run `headway {kind}s grant {name} --bundle {bundle}`."
    )
