"""Give a mail to the mail server of a connection, and say what the server has refused."""

import smtplib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email import policy
from email.message import Message
from typing import Any, Final

from headway.domain.connection import Connection
from headway.domain.errors import HeadwayError

TIMEOUT: Final = 20.0
"""Seconds that a mail server may take for each step of its answer."""

QUIT_SECONDS: Final = 2.0
"""Seconds that a mail server which has taken a mail may take to answer QUIT."""

SECURITIES: Final = ("starttls", "ssl", "none")
"""How a mail server is reached: with TLS from its STARTTLS on, with TLS from the start, or not."""


class MailError(HeadwayError):
    """A mail cannot be made, or is not taken by the mail server."""

    code = "mail_not_sent"


def deliver(
    connection: Connection, mail: Message, sender: str, receivers: Sequence[str]
) -> str | None:
    """Give a mail to the server; return whom of several the server has refused, None for nobody.

    `sender` and `receivers` are addresses without names.  The server is reached as `security` says;
    what is none of these sends no password.  The mail counts as sent once the server has taken it,
    whatever becomes of the connection after that.  MailError for what Headway refuses, an
    SMTPException for what the server refuses, an OSError if the server is not reached.
    """
    with _signed_in(connection) as server:
        options = _options(connection, server, [sender, *receivers])
        content = mail.as_bytes(policy=policy.SMTPUTF8 if options else policy.SMTP)
        lost = server.sendmail(sender, receivers, content, options)
    return f"Sent, but the mail server has refused {refused(lost)}." if lost else None


@contextmanager
def _signed_in(connection: Connection) -> Iterator[smtplib.SMTP]:
    """Reach the mail server, and sign in if the connection has a password."""
    server = _reached(connection)
    try:
        if connection.password is not None:
            _sign_in(connection, server, connection.password)
        yield server
        _quit(server)
    finally:
        server.close()


def _sign_in(connection: Connection, server: smtplib.SMTP, password: str) -> None:
    try:
        server.login(connection.login or "", password)
    except UnicodeEncodeError:  # which quotes the password
        raise MailError(
            f"The connection {connection.conn_id!r} has a login or a password with characters that "
            "are not ASCII, which cannot be told to a mail server; give the account others."
        ) from None


def _quit(server: smtplib.SMTP) -> None:
    """Say goodbye; no answer to that can undo what was sent."""
    if server.sock is not None:
        server.sock.settimeout(QUIT_SECONDS)
    with suppress(OSError):  # an SMTPException is one
        server.quit()


def _options(connection: Connection, server: smtplib.SMTP, addresses: Sequence[str]) -> list[str]:
    """Return what addresses that are not ASCII need; MailError if the server does not offer it."""
    wide = [address for address in addresses if not address.isascii()]
    if not wide:
        return []
    server.ehlo_or_helo_if_needed()
    if not server.has_extn("smtputf8"):
        raise MailError(
            f"The mail server of the connection {connection.conn_id!r} takes only addresses in "
            f"ASCII (it offers no SMTPUTF8), and not {', '.join(wide)}. Write a domain in its "
            "ASCII form (xn--…); for other characters, use another address, or a mail server that "
            "offers SMTPUTF8."
        )
    return ["SMTPUTF8", "BODY=8BITMIME"]


def _reached(connection: Connection) -> smtplib.SMTP:
    security = _security(connection.extra)
    if security not in SECURITIES:
        raise MailError(
            f"The connection {connection.conn_id!r} has a security in its extra that is none of "
            f"{', '.join(SECURITIES)}; write one of these."
        )
    host, secure = connection.host or "localhost", ssl.create_default_context()
    if security == "ssl":
        return smtplib.SMTP_SSL(host, connection.port or 465, timeout=TIMEOUT, context=secure)
    server = smtplib.SMTP(host, connection.port or 587, timeout=TIMEOUT)
    if security == "starttls":
        try:
            server.starttls(context=secure)
        except BaseException:
            server.close()
            raise
    return server


def _security(extra: Mapping[str, Any]) -> str:
    """Return how to reach a server; `disable_ssl` and `disable_tls` are those of Airflow."""
    given = extra.get("security")
    if given is not None:
        return str(given).lower()
    if "disable_ssl" not in extra and "disable_tls" not in extra:
        return "starttls"
    if not _is_true(extra.get("disable_ssl")):
        return "ssl"
    return "none" if _is_true(extra.get("disable_tls")) else "starttls"


def _is_true(value: object) -> bool:
    return str(value).lower() in ("true", "1", "yes")


def sender_of(connection: Connection) -> str:
    """Return whom mails by a connection are from: its extra's `from`, or its login."""
    extra = connection.extra
    return str(extra.get("from") or extra.get("from_email") or connection.login or "")


def refusal(error: smtplib.SMTPException) -> str:
    """Return what a mail server says that takes no mail."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return f"it takes none of {refused(error.recipients)}"
    if isinstance(error, smtplib.SMTPResponseException):
        return _answer(error.smtp_code, error.smtp_error)
    return str(error) or type(error).__name__


def refused(given: Mapping[str, tuple[int, bytes]]) -> str:
    """Return whom a mail server has refused, and why."""
    return ", ".join(f"{whom} ({_answer(*answer)})" for whom, answer in given.items())


def _answer(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"{code} {text}"
