"""`airflow.utils.email`: mails that a task's own code sends."""

from collections.abc import Mapping, Sequence
from email.mime.multipart import MIMEMultipart
from typing import Any, Final

from headway.airflow_layer.tolerance.arguments import by_name
from headway.runtime.mail.letter import Letter, addresses, message, send
from headway.sdk.context.secrets import BaseHook
from headway.sdk.operators.email import DEFAULT_CONNECTION

__all__ = ["build_mime_message", "get_email_address_list", "send_email", "send_email_smtp"]

_SENT: Final = (
    *("to", "subject", "html_content", "files", "dryrun", "cc", "bcc"),
    *("mime_subtype", "mime_charset", "conn_id", "from_email", "custom_headers"),
)
_BUILT: Final = (
    *("mail_from", "to", "subject", "html_content", "files", "cc", "bcc"),
    *("mime_subtype", "mime_charset", "custom_headers"),
)

get_email_address_list = addresses


def send_email(*args: Any, **options: Any) -> None:
    """Send a mail by the connection `conn_id`, by default `smtp_default`.

    The arguments are those of EmailOperator.  With `dryrun` nothing is sent.
    """
    given = by_name("send_email()", _SENT, args, options)
    letter = _letter(given, given.get("from_email"))
    if given.get("dryrun"):
        return
    refused = send(BaseHook.get_connection(given.get("conn_id") or DEFAULT_CONNECTION), letter)
    if refused is not None:
        BaseHook().log.warning("%s", refused)


send_email_smtp = send_email


def build_mime_message(*args: Any, **options: Any) -> tuple[MIMEMultipart, Sequence[str]]:
    """Return a mail from `mail_from`, and all who are to get it."""
    given = by_name("build_mime_message()", _BUILT, args, options)
    letter = _letter(given, given.get("mail_from"))
    return message(letter), [*letter.to, *letter.cc, *letter.bcc]


def _letter(given: Mapping[str, Any], sender: str | None) -> Letter:
    return Letter(
        to=addresses(given["to"]),
        subject=given["subject"],
        html_content=given["html_content"],
        files=list(given.get("files") or ()),
        cc=addresses(given.get("cc")),
        bcc=addresses(given.get("bcc")),
        mime_subtype=given.get("mime_subtype", "mixed"),
        mime_charset=given.get("mime_charset", "utf-8"),
        from_email=sender,
        custom_headers=dict(given.get("custom_headers") or {}),
    )
