"""Reach the mail server of a connection, and say what it has refused."""

import smtplib
import ssl
from collections.abc import Mapping
from typing import Any, Final

from headway.domain.connection import Connection
from headway.domain.errors import HeadwayError

TIMEOUT: Final = 20.0
"""Seconds that a mail server may take for each step of its answer."""

SECURITIES: Final = ("starttls", "ssl", "none")
"""How a mail server is reached: with TLS from its STARTTLS on, with TLS from the start, or not."""


class MailError(HeadwayError):
    """A mail cannot be made, or is not taken by the mail server."""

    code = "mail_not_sent"


def mail_server(connection: Connection) -> smtplib.SMTP:
    """Reach the mail server as `security` says; what is none of these sends no password.

    The server is signed in at if the connection has a password.
    """
    server = _reached(connection)
    try:
        if connection.password is not None:
            server.login(connection.login or "", connection.password)
    except BaseException:
        server.close()
        raise
    return server


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
