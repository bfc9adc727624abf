"""A mail that a task sends: HTML, with files, to several receivers."""

import smtplib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email import policy
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import formatdate, make_msgid, parseaddr
from pathlib import Path
from typing import Any

from headway.domain.connection import Connection
from headway.runtime.mail.server import MailError, deliver, refusal, sender_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What a mail says, and to whom; receivers of `bcc` are in no header.

    `files` are paths of this machine; a relative one begins at the task's working directory.
    """

    to: Sequence[str]
    subject: str
    html_content: str
    files: Sequence[str] = ()
    cc: Sequence[str] = ()
    bcc: Sequence[str] = ()
    mime_subtype: str = "mixed"
    mime_charset: str = "utf-8"
    from_email: str | None = None
    custom_headers: Mapping[str, Any] = field(default_factory=dict)


def addresses(given: str | Iterable[str] | None) -> list[str]:
    """Return the addresses in a text with commas or semicolons between, or in several texts."""
    texts = [given] if isinstance(given, str) else list(given or ())
    for text in texts:
        if not isinstance(text, str):
            raise MailError(f"{text!r} is no address of a receiver; write text.")
    parts = (part.strip() for text in texts for part in text.replace(";", ",").split(","))
    return [part for part in parts if part]


def message(letter: Letter) -> MIMEMultipart:
    """Return a mail with its headers and parts; MailError for a header or a file that cannot be."""
    made = MIMEMultipart(letter.mime_subtype, policy=policy.SMTP)
    headers = {
        "Subject": " ".join(letter.subject.splitlines()),
        "From": letter.from_email or "",
        "To": ", ".join(letter.to),
        "Cc": ", ".join(letter.cc),
        "Date": formatdate(localtime=True),
        "Message-ID": make_msgid(domain=_domain(letter.from_email)),
        **letter.custom_headers,
    }
    for name, value in headers.items():
        if value:
            try:
                made[name] = str(value)
            except ValueError as error:
                raise MailError(f"The header {name} cannot be {value!r}: {error}.") from None
    made.attach(MIMEText(letter.html_content, "html", letter.mime_charset, policy=policy.SMTP))
    for name in letter.files:
        made.attach(_attached(Path(name)))
    return made


def send(connection: Connection, letter: Letter) -> str | None:
    """Send a mail; return whom of several the server has refused, None if it has refused nobody.

    The sender is `from_email`, or that of the connection.  MailError if nobody gets it.
    """
    sender = letter.from_email or sender_of(connection)
    receivers = [*letter.to, *letter.cc, *letter.bcc]
    if not sender or not receivers:
        raise MailError(
            f"A mail by the connection {connection.conn_id!r} needs a sender and a receiver: pass "
            "from_email, or write `from` in the connection's extra, and pass to."
        )
    made = message(replace(letter, from_email=sender))
    try:
        return deliver(connection, made, _bare(sender), [_bare(each) for each in receivers])
    except smtplib.SMTPException as error:
        raise MailError(f"The mail server refuses it: {refusal(error)}") from None
    except (OSError, UnicodeError) as error:  # the latter for the name of a host
        raise MailError(
            f"The mail server of the connection {connection.conn_id!r} is not reached: {error}"
        ) from None


def _attached(file: Path) -> MIMEApplication:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise MailError(f"The file {str(file)!r} cannot be attached: {error}.") from None
    part = MIMEApplication(content, Name=file.name)
    part.add_header("Content-Disposition", "attachment", filename=file.name)
    part["Content-ID"] = f"<{file.name}>"
    return part


def _bare(address: str) -> str:
    """Return an address without the name: `Ann <ann@example.org>` has one."""
    return parseaddr(address)[1] or address


def _domain(sender: str | None) -> str:
    return _bare(sender or "").rpartition("@")[2] or "headway"
