"""EmailOperator: send a mail by a connection."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.context.secrets import BaseHook
from headway.sdk.running.context import Context

DEFAULT_CONNECTION = "smtp_default"


class EmailOptions(TaskOptions, total=False):
    """What a task that sends a mail takes besides receivers, subject and content."""

    files: Sequence[str] | XComArg | None
    cc: str | Iterable[str] | XComArg | None
    bcc: str | Iterable[str] | XComArg | None
    mime_subtype: str
    mime_charset: str
    conn_id: str | None
    from_email: str | None
    custom_headers: Mapping[str, Any] | None


class EmailOperator(BaseOperator):
    """Send a mail with `html_content` to `to`, `cc` and `bcc`, each one address or several.

    The mail server is that of the connection `conn_id`, by default `smtp_default`.  The sender is
    `from_email`, or that of the connection.  `files` are paths of files to attach.
    """

    template_fields: ClassVar[Sequence[str]] = (
        "to",
        "subject",
        "html_content",
        "files",
        "cc",
        "bcc",
        "from_email",
        "conn_id",
        "custom_headers",
    )
    template_ext: Sequence[str] = (".html",)
    template_fields_renderers: ClassVar[Mapping[str, str]] = {"html_content": "html"}
    operator_name = "email"

    def __init__(
        self,
        *,
        task_id: str,
        to: str | Iterable[str] | XComArg,
        subject: str | XComArg,
        html_content: str | XComArg,
        **options: Unpack[EmailOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.to = to
        self.subject = subject
        self.html_content = html_content
        self.files = given.pop("files", None)
        self.cc = given.pop("cc", None)
        self.bcc = given.pop("bcc", None)
        self.mime_subtype = given.pop("mime_subtype", "mixed")
        self.mime_charset = given.pop("mime_charset", "utf-8")
        self.conn_id = given.pop("conn_id", None)
        self.from_email = given.pop("from_email", None)
        self.custom_headers = given.pop("custom_headers", None)
        super().__init__(task_id, **given)

    def execute(self, context: Context) -> None:  # noqa: ARG002
        """Send the mail."""
        from headway.runtime.mail.letter import Letter, addresses, send  # which few tasks need

        letter = Letter(
            to=addresses(self.to),  # outputs have their values by now
            subject=str(self.subject),
            html_content=str(self.html_content),
            files=[self.files] if isinstance(self.files, str) else list(self.files or ()),
            cc=addresses(self.cc),
            bcc=addresses(self.bcc),
            mime_subtype=self.mime_subtype,
            mime_charset=self.mime_charset,
            from_email=self.from_email or None,
            custom_headers=dict(self.custom_headers or {}),
        )
        connection = BaseHook.get_connection(self.conn_id or DEFAULT_CONNECTION)
        refused = send(connection, letter)
        if refused is not None:
            self.log.warning("%s", refused)
