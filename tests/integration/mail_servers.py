"""A mail server of this machine, and what it has been given."""

import asyncio
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
def mail_server(
    gone: Sequence[str] = (), bye: str | None = "221 Bye", **given: Any
) -> Iterator[tuple[int, list[Mail]]]:
    """Start one that refuses who is `gone`, and answers QUIT by `bye`.

    None drops the client, and an empty text never comes.
    """
    mails: list[Mail] = []

    class Box(Mailbox):
        async def handle_RCPT(self, *given: Any) -> str:  # noqa: N802 - its library's name
            envelope, address = given[2:4]
            if address in gone:
                return "550 5.1.1 no such user"
            envelope.rcpt_tos.append(address)
            return "250 OK"

        async def handle_QUIT(self, server: Any, *_: Any) -> str | None:  # noqa: N802 - as above
            if bye is None:
                server.transport.abort()
            if bye == "":
                await asyncio.Event().wait()  # until the client has gone
            return bye

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
