"""A mail server of this machine, and what it has been given."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.message import Message as Mail
from logging import WARNING, getLogger
from socket import socket
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Mailbox

getLogger("mail.log").setLevel(
    WARNING
)  # its lines would stand in the log of a task of this process


@contextmanager
def mail_server(gone: Sequence[str] = (), **given: Any) -> Iterator[tuple[int, list[Mail]]]:
    mails: list[Mail] = []

    class Box(Mailbox):
        async def handle_RCPT(self, *given: Any) -> str:  # noqa: N802 - its library's name
            envelope, address = given[2:4]
            if address in gone:
                return "550 5.1.1 no such user"
            envelope.rcpt_tos.append(address)
            return "250 OK"

        def handle_message(self, message: Mail) -> None:
            mails.append(message)

    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(Box(), hostname="127.0.0.1", port=port, **given)
    controller.start()
    try:
        yield port, mails
    finally:
        controller.stop()
