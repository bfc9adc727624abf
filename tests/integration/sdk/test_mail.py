"""EmailOperator and send_email against a mail server of this machine."""

import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from tests.integration.mail_servers import mail_server

from headway import sdk
from headway.airflow_layer import finder
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.mail import server
from headway.testing import run_task
from headway.testing.data.airflow_names import without_airflow

CLOCK = SystemClock()


def post(port: int, **given: Any) -> dict[str, Any]:
    extra = {"security": "none", "from": "Headway <headway@example.com>", **given.pop("extra", {})}
    return {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra, **given}


def read(mail: Any) -> EmailMessage:
    found = BytesParser(policy=email.policy.default).parsebytes(bytes(mail))
    assert isinstance(found, EmailMessage)
    return found


def test_a_mail_arrives_with_its_templates_rendered_and_its_files(tmp_path: Path) -> None:
    file = tmp_path / "sales of 2024.csv"
    file.write_bytes(b"n\n1\n")
    task = sdk.EmailOperator(
        task_id="mail",
        to="a@example.com; Bea <b@example.com>",
        cc=["c@example.com"],
        bcc="d@example.com",
        subject="Umsätze\n{{ ds }}",
        html_content="<b>{{ ds_nodash }} größer</b>",
        files=[f"{tmp_path}/sales of {{{{ ds[:4] }}}}.csv"],
        custom_headers={"X-Of": "{{ ds }}"},
    )

    with mail_server() as (port, mails):
        result = run_task(task, logical_date="2024-01-05", connections={"smtp_default": post(port)})

    assert result.state == "success"
    mail = read(mails[0])
    assert mail["Subject"] == "Umsätze 2024-01-05"
    assert mail["From"] == "Headway <headway@example.com>"
    assert mail["To"] == "a@example.com, Bea <b@example.com>"
    assert (mail["Cc"], mail["Bcc"], mail["X-Of"]) == ("c@example.com", None, "2024-01-05")
    assert mail["X-RcptTo"] == "a@example.com, b@example.com, c@example.com, d@example.com"
    assert mail["Date"]
    assert mail["Message-ID"].endswith("@example.com>")
    assert mail.get_content_type() == "multipart/mixed"
    body, attached = mail.iter_parts()
    assert body.get_content_type() == "text/html"
    assert body.get_content().strip() == "<b>20240105 größer</b>"
    assert attached.get_filename() == "sales of 2024.csv"
    assert attached.get_payload(decode=True) == b"n\n1\n"


def test_the_connection_and_the_sender_are_those_of_the_task() -> None:
    def judge(*args: Any) -> AuthResult:
        return AuthResult(success=args[-1] == LoginPassword(b"me", b"secret"), handled=False)

    task = sdk.EmailOperator(
        task_id="mail",
        to="a@example.com",
        subject="s",
        html_content="h",
        conn_id="post",
        from_email="sales@example.org",
        mime_subtype="alternative",
        mime_charset="iso-8859-1",
    )
    given: dict[str, Any] = {
        "authenticator": judge,
        "auth_require_tls": False,
        "auth_required": True,
    }

    with mail_server(**given) as (port, mails):
        connection = post(port, login="me", password="secret")
        result = run_task(task, connections={"post": connection})
        wrong = run_task(task, connections={"post": {**connection, "password": "canary"}})

    assert result.state == "success"
    mail = read(mails[0])
    assert (mail["From"], mail.get_content_type()) == ("sales@example.org", "multipart/alternative")
    assert next(mail.iter_parts()).get_content_charset() == "iso-8859-1"
    assert wrong.error is not None
    assert "The mail server refuses it: 535" in wrong.error
    assert "canary" not in wrong.error


def test_whom_the_server_refuses_is_in_the_log_and_nobody_is_an_error() -> None:
    task = sdk.EmailOperator(
        task_id="mail", to=["a@example.com", "b@example.com"], subject="s", html_content="h"
    )
    with mail_server(gone=["b@example.com"]) as (port, _):
        result = run_task(task, connections={"smtp_default": post(port)})
    with mail_server(gone=["a@example.com", "b@example.com"]) as (port, _):
        lost = run_task(task, connections={"smtp_default": post(port)})

    assert result.state == "success"
    assert "has refused b@example.com (550 5.1.1 no such user)" in result.log
    assert lost.state == "failed"
    assert lost.error is not None
    assert "it takes none of a@example.com (550" in lost.error


@pytest.mark.parametrize("bye", ["451 4.3.0 later", "nonsense", None])
def test_a_mail_that_the_server_has_taken_is_sent_whatever_it_says_to_goodbye(
    bye: str | None,
) -> None:
    task = sdk.EmailOperator(task_id="mail", to="a@example.com", subject="s", html_content="h")

    with mail_server(bye=bye) as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port)})

    assert (result.state, result.error, len(mails)) == ("success", None, 1)


def test_a_server_that_never_says_goodbye_is_left_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "QUIT_SECONDS", 0.1)
    task = sdk.EmailOperator(task_id="mail", to="a@example.com", subject="s", html_content="h")
    began = CLOCK.monotonic()

    with mail_server(bye="") as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port)})

    assert (result.error, len(mails)) == (None, 1)
    assert CLOCK.monotonic() < began + server.TIMEOUT


def test_an_error_of_the_server_is_told_and_not_what_it_says_to_goodbye() -> None:
    task = sdk.EmailOperator(task_id="mail", to="a@example.com", subject="s", html_content="h")

    with mail_server(gone=["a@example.com"], bye="451 4.3.0 later") as (port, _):
        result = run_task(task, connections={"smtp_default": post(port)})

    assert "it takes none of a@example.com (550" in (result.error or "")


def test_addresses_that_are_not_ascii_arrive_where_the_server_takes_them() -> None:
    task = sdk.EmailOperator(
        task_id="mail",
        to="Jürg <jürg@example.com>",
        cc="a@example.com",
        subject="Grüße",
        html_content="größer",
        from_email="Änne <änne@bücher.example>",
    )

    with mail_server(enable_SMTPUTF8=True) as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port)})

    assert result.error is None
    assert "To: Jürg <jürg@example.com>".encode() in bytes(mails[0])
    mail = read(mails[0])
    assert (mail["From"], mail["Subject"]) == ("Änne <änne@bücher.example>", "Grüße")
    assert mail["X-RcptTo"] == "jürg@example.com, a@example.com"
    assert mail["Message-ID"].endswith("@bücher.example>")
    assert next(mail.iter_parts()).get_content().strip() == "größer"


@pytest.mark.parametrize("given", ["to", "bcc", "from_email"])
def test_an_address_that_the_server_cannot_take_is_named(given: str) -> None:
    usual: dict[str, Any] = {"to": "a@example.com", "subject": "s", "html_content": "h"}
    task = sdk.EmailOperator(task_id="mail", **{**usual, given: "Jürg <jürg@bücher.example>"})

    with mail_server(enable_SMTPUTF8=False) as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port)})

    assert (result.state, mails) == ("failed", [])
    assert (
        "takes only addresses in ASCII (it offers no SMTPUTF8), and not jürg@bücher.example. Write "
        "a domain in its ASCII form (xn--…)"
    ) in (result.error or "")


@pytest.mark.parametrize(
    "secret", [{"login": "m", "password": "cänary"}, {"login": "mä", "password": "p"}]
)
def test_a_password_that_is_not_ascii_is_refused_and_not_told(secret: dict[str, str]) -> None:
    task = sdk.EmailOperator(task_id="mail", to="a@example.com", subject="s", html_content="h")
    given: dict[str, Any] = {
        "authenticator": lambda *_: AuthResult(success=True),
        "auth_require_tls": False,
    }

    with mail_server(**given) as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port, **secret)})

    assert mails == []
    assert "has a login or a password with characters that are not ASCII" in (result.error or "")
    assert "\\xe4" not in (result.error or "")


@pytest.mark.parametrize(
    ("given", "extra", "said"),
    [
        ({"to": ""}, {}, "needs a sender and a receiver"),
        ({}, {"from": ""}, "needs a sender and a receiver"),
        ({"files": ["/no/such/file"]}, {}, "The file '/no/such/file' cannot be attached"),
        ({"custom_headers": {"X-A": "b\nBcc: c@d.e"}}, {}, "The header X-A cannot be"),
        ({}, {"security": "tls"}, "none of starttls, ssl, none; write one"),
        ({}, {"security": None}, "STARTTLS"),
        ({}, {"security": None, "disable_ssl": True}, "STARTTLS"),
    ],
)
def test_what_cannot_be_sent_says_why(
    given: dict[str, Any], extra: dict[str, Any], said: str
) -> None:
    usual = {"to": "a@example.com", "subject": "s", "html_content": "h"}
    task = sdk.EmailOperator(task_id="mail", **{**usual, **given})

    with mail_server() as (port, mails):
        result = run_task(task, connections={"smtp_default": post(port, extra=extra)})

    assert result.error is not None
    assert said in result.error
    assert mails == []


def test_the_fields_of_airflows_connections_say_the_same() -> None:
    task = sdk.EmailOperator(task_id="mail", to="a@example.com", subject="s", html_content="h")
    extra = {"from_email": "x@example.com", "disable_ssl": "true", "disable_tls": True}

    with mail_server() as (port, mails):
        connection = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}
        result = run_task(task, connections={"smtp_default": connection})

    assert result.error is None
    assert mails[0]["From"] == "x@example.com"


SOURCE = """
from airflow import DAG
from airflow.operators.email_operator import EmailOperator
from airflow.operators.python import PythonOperator
from airflow.utils.email import build_mime_message, send_email, send_email_smtp

def tell(ds):
    send_email(["a@example.com"], "by hand", f"<i>{ds}</i>", None, False, "c@example.com")
    send_email("a@example.com", "never", "h", dryrun=True)
    send_email_smtp(to="b@example.com", subject="by smtp", html_content="h", conn_id="post")
    mail, receivers = build_mime_message("f@example.com", "a@example.com", "s", "h", bcc="b@x.y")
    print(mail["From"], receivers)

with DAG("d", schedule=None) as dag:
    mail = EmailOperator("mail", to="a@example.com", subject="{{ ds }}", html_content="h")
    tell = PythonOperator(task_id="tell", python_callable=tell)
"""


@pytest.fixture
def _layer() -> Iterator[None]:
    with without_airflow():
        finder.install()
        yield


@pytest.mark.usefixtures("_layer")
def test_files_of_airflow_send_mail_by_its_names() -> None:
    made: dict[str, Any] = {"__name__": "a_dag_file"}
    exec(SOURCE, made)

    with mail_server() as (port, mails):
        given = {"smtp_default": post(port), "post": post(port)}
        sent = run_task(made["mail"], logical_date="2024-01-05", connections=given)
        told = run_task(made["dag"].get_task("tell"), logical_date="2024-01-05", connections=given)

    assert (sent.error, told.error) == (None, None)
    assert [mail["Subject"] for mail in mails] == ["2024-01-05", "by hand", "by smtp"]
    assert mails[1]["Cc"] == "c@example.com"
    assert "f@example.com ['a@example.com', 'b@x.y']" in told.log
