"""Send a message by a connection, as its type says: e-mail, Slack, webhook, PagerDuty, apprise.

The message's key goes with it, so that a receiver can tell that it has it already.
"""

import base64
import json
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.utils import getaddresses
from http.client import HTTPException, InvalidURL
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from headway.domain.connection import Connection
from headway.runtime.mail.server import TIMEOUT, MailError, deliver, refusal, sender_of
from headway_worker.notifications.message import Message, NotificationError

PAGERDUTY: Final = "https://events.pagerduty.com"


class _NoRedirects(HTTPRedirectHandler):
    """Follow none: the message would become a GET, its headers somebody else's."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


def send(connection: Connection, message: Message, to: Sequence[str]) -> str | None:
    """Send a message; return who of several has not got it, as to send it again would help nobody.

    NotificationError says why it was not taken at all.
    """
    sender = SENDERS.get(connection.conn_type)
    if sender is None:
        raise NotificationError(
            f"The connection {connection.conn_id!r} is of type {connection.conn_type!r}, by which "
            f"nobody can be told; the types are {', '.join(SENDERS)}."
        )
    try:
        return sender(connection, message, to)
    except smtplib.SMTPException as error:
        raise NotificationError(f"The mail server refuses it: {refusal(error)}") from None
    except MailError as error:
        raise NotificationError(str(error)) from None
    except (OSError, ssl.SSLError, ValueError) as error:
        raise NotificationError(f"It cannot be sent: {error}") from None


def by_mail(connection: Connection, message: Message, to: Sequence[str]) -> str | None:
    """Send an e-mail: `extra` has `from`, `to`, and `security` (starttls, ssl, none).

    Return whom the server has refused, while it took the mail for others.
    """
    extra = connection.extra
    receivers = [*to] or _texts(extra.get("to"))
    sender = sender_of(connection)
    if not receivers or not sender:
        raise NotificationError(
            f"The connection {connection.conn_id!r} needs from and to in its extra."
        )
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = message.subject, sender, ", ".join(receivers)
    mail["Message-ID"] = f"<{message.key}@{sender.rpartition('@')[2].strip('> ') or 'headway'}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.body)
    whom = [address for _, address in getaddresses([str(mail["To"])])]
    return deliver(connection, mail, getaddresses([str(mail["From"])])[0][1], whom)


def by_slack(connection: Connection, message: Message, _: Sequence[str]) -> None:
    """Post to an incoming webhook of Slack: its URL is the password, or begins with the host."""
    secret = connection.password or ""
    url = secret if "://" in secret else "/".join(filter(None, (_url(connection), secret)))
    _post(url, {"text": f"*{message.subject}*\n{message.body}"}, message)


def by_webhook(connection: Connection, message: Message, _: Sequence[str]) -> None:
    """Post JSON; `extra` may have `headers` and a `token`, a login is for basic authentication."""
    headers = connection.extra.get("headers")
    given = {str(k): str(v) for k, v in headers.items()} if isinstance(headers, Mapping) else {}
    if token := connection.extra.get("token"):
        given["Authorization"] = f"Bearer {token}"
    elif connection.login is not None:
        pair = f"{connection.login}:{connection.password or ''}".encode()
        given["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    said = {**message.facts, "subject": message.subject, "body": message.body}
    _post(_url(connection), said, message, given)


def by_pagerduty(connection: Connection, message: Message, _: Sequence[str]) -> None:
    """Trigger an alert of PagerDuty: the password is the integration's key."""
    said = {
        "routing_key": connection.password,
        "event_action": "trigger",
        "dedup_key": message.key,
        "payload": {
            "summary": message.subject,
            "source": "headway",
            "severity": str(connection.extra.get("severity", "error")),
            "custom_details": {**message.facts, "body": message.body},
        },
    }
    _post(f"{_url(connection) or PAGERDUTY}/v2/enqueue", said, message)


def by_apprise(connection: Connection, message: Message, to: Sequence[str]) -> None:
    """Tell by whatever apprise knows: its URLs are the password, `url` of extra, or `to`."""
    try:
        from apprise import Apprise
    except ModuleNotFoundError:
        raise NotificationError(
            "This worker has no apprise; install headway[notify] where attempts run."
        ) from None
    urls = [*_texts(connection.extra.get("url")), *filter(None, [connection.password]), *to]
    service = Apprise()
    if not urls or not all(service.add(url) for url in urls):
        raise NotificationError(
            f"The connection {connection.conn_id!r} has no URL that apprise knows."
        )
    if not service.notify(title=message.subject, body=message.body):
        raise NotificationError("A service of apprise has not taken it; its log says more.")


SENDERS: Final[Mapping[str, Callable[[Connection, Message, Sequence[str]], str | None]]] = {
    "smtp": by_mail,
    "slack": by_slack,
    "slackwebhook": by_slack,
    "webhook": by_webhook,
    "http": by_webhook,
    "https": by_webhook,
    "pagerduty": by_pagerduty,
    "apprise": by_apprise,
}
"""How to send, by the type of the connection."""


def _url(connection: Connection) -> str:
    host = connection.host or ""
    if not host:
        return ""
    protocol = connection.conn_type if connection.conn_type in {"http", "https"} else "https"
    place = host if "://" in host else f"{protocol}://{host}"
    port = "" if connection.port is None else f":{connection.port}"
    path = "" if connection.schema is None else f"/{connection.schema.lstrip('/')}"
    return f"{place.rstrip('/')}{port}{path}"


def _post(
    url: str, said: Mapping[str, Any], message: Message, headers: Mapping[str, str] | None = None
) -> None:
    host = _host(url)
    request = Request(  # noqa: S310 - the scheme was checked
        url,
        json.dumps(said).encode(),
        {
            "Content-Type": "application/json",
            "User-Agent": "headway",
            **(headers or {}),
            "Idempotency-Key": message.key,
        },
        method="POST",
    )
    try:
        with build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as answer:
            answer.read(2**16)
    except HTTPError as error:  # its URL may be the secret
        raise NotificationError(f"{host} answers HTTP {error.code}.") from None
    except URLError as error:
        raise NotificationError(f"{host} is not reached: {error.reason}") from None
    except (InvalidURL, ValueError):  # they quote the URL, or the header
        raise NotificationError(
            f"The URL at {host}, or a header, has a character that may not be there, such as a "
            "space or the end of a line; correct the connection."
        ) from None
    except HTTPException as error:
        raise NotificationError(
            f"{host} gives no answer that is HTTP: {type(error).__name__}."
        ) from None


def _host(url: str) -> str:
    """Return the host of an http or https URL, of which no error tells more."""
    try:
        place = urlsplit(url)
    except ValueError:
        place = urlsplit("")
    if place.scheme not in {"http", "https"} or not place.hostname:
        raise NotificationError("The connection has no http or https URL.")
    return place.hostname


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [address.strip() for address in value.split(",") if address.strip()]
    return [str(address) for address in value] if isinstance(value, list | tuple) else []
