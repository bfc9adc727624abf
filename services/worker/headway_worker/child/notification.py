"""What the child does that sends a notification: ask for the connection, compose, send."""

from collections.abc import Mapping
from dataclasses import replace
from socket import socket

from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.errors import HeadwayError
from headway.domain.states import Outcome
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import Frame, send_frame
from headway.sdk.exceptions import AirflowException
from headway.sdk.harness.execution import Result
from headway_worker.child.attempt import Asking
from headway_worker.child.records import send_records
from headway_worker.notifications.hidden import hidden_of
from headway_worker.notifications.message import Message, NotificationError, compose
from headway_worker.notifications.senders import send
from headway_worker.protocol.notification_order import NotificationOrder
from headway_worker.protocol.result_codec import result_to_frame


def run(argument: Frame, channel: socket) -> None:
    """Send one message, and tell how that went as the last frame of the channel."""
    order = NotificationOrder.from_frame(argument)
    send_records()
    result = _send(order, Asking(channel))
    send_frame(channel, {"result": result_to_frame(result)})


def _send(order: NotificationOrder, asking: Asking) -> Result:
    """Send the message; the error is why it was not sent, or who has not got it."""
    try:
        message = compose(order)
        connection = _connection(order.connection, asking)
        left_out = send(connection, masked(message, connection), order.to)
    except (HeadwayError, AirflowException) as error:
        return Result(outcome=Outcome.FAILED, error=str(error))
    except Exception as error:  # noqa: BLE001 - here one message is isolated
        return Result(outcome=Outcome.FAILED, error=f"{type(error).__name__}: {error}")
    return Result(outcome=Outcome.SUCCESS, error=left_out)


def masked(message: Message, connection: Connection) -> Message:
    """Return the message without what the connection has of secrets, as an error may quote it."""
    masker = Masker()
    masker.prepare(*hidden_of(connection))
    subject, body = masker.mask(message.subject), masker.mask(message.body)
    facts = {name: _masked(value, masker) for name, value in message.facts.items()}
    return replace(message, subject=subject, body=body, facts=facts)


def _masked(value: JsonValue, masker: Masker) -> JsonValue:
    if isinstance(value, str):
        return masker.mask(value)
    if isinstance(value, Mapping):
        return {name: _masked(item, masker) for name, item in value.items()}
    return [_masked(item, masker) for item in value] if isinstance(value, list) else value


def _connection(name: str, asking: Asking) -> Connection:
    answer = asking.ask({"ask": "connection", "name": name})
    if answer["text"] is None:
        raise NotificationError(
            f"There is no connection {name!r}; `headway connections add {name} …` makes it."
        )
    return Connection.from_json(name, answer["text"])
