"""Senders against servers of this machine: what arrives, under which key, and what fails."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from threading import Thread
from typing import Any, cast

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from tests.integration.mail_servers import mail_server

from headway.domain.connection import Connection
from headway.domain.states import Outcome
from headway.sdk.harness.execution import Result
from headway_worker.child import notification
from headway_worker.notifications.message import Message, NotificationError
from headway_worker.notifications.senders import send
from headway_worker.protocol.notification_order import NotificationOrder

KEY = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
MESSAGE = Message(KEY, "flights: run failed", "It failed; über alles.", {"dag_id": "flights"})


@dataclass
class Received:
    """What has come to a server, and what it answers."""

    status: int = 200
    posts: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    port: int = 0


@pytest.fixture
def web() -> Iterator[Received]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            received.posts.append((self.path, dict(self.headers), json.loads(data)))
            self.send_response(received.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.port = server.server_port
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield received
    server.shutdown()
    server.server_close()
    thread.join()


def connection(conn_type: str, port: int, **given: Any) -> Connection:
    usual: dict[str, Any] = {"host": "http://127.0.0.1", "port": port}
    return Connection(conn_id="ops", conn_type=conn_type, **{**usual, **given})


def by_mail(port: int, **given: Any) -> Connection:
    extra = {"from": "headway@example.com", "to": "a@example.com, b@example.com"}
    extra |= {"security": "none", **given.pop("extra", {})}
    return connection("smtp", port, host="127.0.0.1", extra=extra, **given)


def test_an_e_mail_arrives_under_the_key() -> None:
    with mail_server() as (port, mails):
        send(by_mail(port), MESSAGE, [])
        send(by_mail(port), MESSAGE, ["c@example.com"])

    assert [message["Message-ID"] for message in mails] == [f"<{KEY}@example.com>"] * 2
    assert (mails[0]["Subject"], mails[0]["From"]) == (MESSAGE.subject, "headway@example.com")
    assert [message["To"] for message in mails] == ["a@example.com, b@example.com", "c@example.com"]
    payload = mails[0].get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode().strip() == MESSAGE.body


def test_a_mail_server_is_told_the_password_and_an_error_is_not() -> None:
    def judge(*args: Any) -> AuthResult:
        known = LoginPassword(b"me", b"canary-right")
        return AuthResult(success=args[-1] == known, handled=False)

    given: dict[str, Any] = {
        "authenticator": judge,
        "auth_require_tls": False,
        "auth_required": True,
    }
    with mail_server(**given) as (port, mails):
        send(by_mail(port, login="me", password="canary-right"), MESSAGE, [])
        with pytest.raises(NotificationError, match="The mail server refuses it: 535") as caught:
            send(by_mail(port, login="me", password="canary-wrong"), MESSAGE, [])

    assert len(mails) == 1
    assert "canary" not in str(caught.value)


def test_whom_a_mail_server_has_refused_is_told_of_a_mail_that_others_got() -> None:
    class Asking:
        def ask(self, _: object) -> dict[str, str]:
            return {"text": by_mail(port).to_json()}

    order = NotificationOrder(
        key=KEY,
        event="failure",
        dag_id="flights",
        run_id="r",
        interval_start="",
        interval_end="",
        connection="ops",
        subject=None,
        body="It failed.",
        to=[],
        events=1,
        told=[],
        base_url="",
    )
    with mail_server(gone=["b@example.com"]) as (port, mails):
        result = notification._send(order, cast("Any", Asking()))
    assert len(mails) == 1
    assert result == Result(
        outcome=Outcome.SUCCESS,
        error="Sent, but the mail server has refused b@example.com (550 5.1.1 no such user).",
    )
    both = ["a@example.com", "b@example.com"]
    with (
        mail_server(gone=both) as (port, _),
        pytest.raises(NotificationError, match=r"takes none of a@example\.com \(550"),
    ):
        send(by_mail(port), MESSAGE, [])


@pytest.mark.parametrize("bye", ["451 4.3.0 later", None])
def test_a_message_that_a_mail_server_has_taken_is_not_sent_again(bye: str | None) -> None:
    with mail_server(bye=bye) as (port, mails):
        assert send(by_mail(port), MESSAGE, []) is None
    assert len(mails) == 1


def test_addresses_that_are_not_ascii_need_a_mail_server_that_takes_them() -> None:
    to = ["Jürg <jürg@example.com>", "a@example.com"]
    with mail_server(enable_SMTPUTF8=True) as (port, mails):
        assert send(by_mail(port), MESSAGE, to) is None
    assert mails[0]["X-RcptTo"] == "jürg@example.com, a@example.com"
    assert "To: Jürg <jürg@example.com>, a@example.com".encode() in bytes(mails[0])

    with (
        mail_server(enable_SMTPUTF8=False) as (port, mails),
        pytest.raises(
            NotificationError, match=r"not jürg@example\.com\. Write a domain in its ASC"
        ),
    ):
        send(by_mail(port), MESSAGE, to)
    assert mails == []


def test_a_sender_of_two_addresses_gets_no_copy() -> None:
    with mail_server() as (port, mails):
        send(by_mail(port, extra={"from": "x@example.com, y@example.com"}), MESSAGE, [])
    assert mails[0]["X-RcptTo"] == "a@example.com, b@example.com"


@pytest.mark.parametrize("security", ["tls", "STARTLS", "", False])
def test_a_security_that_there_is_not_sends_no_password(security: Any) -> None:
    given: dict[str, Any] = {
        "auth_require_tls": False,
        "authenticator": lambda *_: AuthResult(success=True),
    }
    with mail_server(**given) as (port, mails):
        mine = by_mail(port, login="me", password="canary", extra={"security": security})
        with pytest.raises(NotificationError, match="none of starttls, ssl, none; write one"):
            send(mine, MESSAGE, [])
    assert mails == []


def test_the_case_of_security_does_not_count() -> None:
    with mail_server() as (port, mails):
        send(by_mail(port, extra={"security": "None"}), MESSAGE, [])
    assert len(mails) == 1


@pytest.mark.parametrize("security", ["starttls", "StartTLS", None])
def test_a_mail_server_without_starttls_gets_no_mail_unless_security_is_none(
    security: str | None,
) -> None:
    with mail_server() as (port, mails), pytest.raises(NotificationError, match="STARTTLS"):
        send(by_mail(port, extra={"security": security}), MESSAGE, [])
    assert mails == []


def test_a_webhook_gets_json_under_the_key(web: Received) -> None:
    extra = {"token": "canary-token", "headers": {"X-Team": "data"}}
    send(connection("webhook", web.port, schema="hooks/1", extra=extra), MESSAGE, [])

    [(path, headers, said)] = web.posts
    assert path == "/hooks/1"
    assert headers["Idempotency-Key"] == KEY
    assert (headers["Authorization"], headers["X-Team"]) == ("Bearer canary-token", "data")
    assert said == {"dag_id": "flights", "subject": MESSAGE.subject, "body": MESSAGE.body}


def test_slack_gets_a_text_at_the_url_that_is_the_secret(web: Received) -> None:
    send(connection("slackwebhook", web.port, password="T0/B0/canary"), MESSAGE, [])
    whole = f"http://127.0.0.1:{web.port}/T1/B1/canary"
    send(Connection(conn_id="ops", conn_type="slack", password=whole), MESSAGE, [])

    assert [path for path, _, _ in web.posts] == ["/T0/B0/canary", "/T1/B1/canary"]
    assert web.posts[0][2] == {"text": f"*{MESSAGE.subject}*\n{MESSAGE.body}"}


def test_pagerduty_gets_an_alert_that_is_the_same_each_time(web: Received) -> None:
    for _ in range(2):
        send(connection("pagerduty", web.port, password="routing"), MESSAGE, [])

    assert [path for path, _, _ in web.posts] == ["/v2/enqueue"] * 2
    assert [said["dedup_key"] for _, _, said in web.posts] == [KEY, KEY]
    assert web.posts[0][2]["payload"]["summary"] == MESSAGE.subject


def test_apprise_tells_what_else_there_is(web: Received) -> None:
    url = f"json://127.0.0.1:{web.port}/any"
    send(Connection(conn_id="ops", conn_type="apprise", password=url), MESSAGE, [])

    assert (web.posts[0][2]["title"], web.posts[0][2]["message"]) == (
        MESSAGE.subject,
        MESSAGE.body,
    )
    web.status = 500
    with pytest.raises(NotificationError, match="has not taken it"):
        send(Connection(conn_id="ops", conn_type="apprise", password=url), MESSAGE, [])
    with pytest.raises(NotificationError, match="no URL that apprise knows"):
        send(Connection(conn_id="ops", conn_type="apprise", password="nosuch://x"), MESSAGE, [])


@pytest.mark.parametrize("status", [301, 404, 500])
def test_what_is_not_accepted_is_an_error_without_the_url(web: Received, status: int) -> None:
    web.status = status

    with pytest.raises(NotificationError, match=f"127.0.0.1 answers HTTP {status}") as caught:
        send(connection("slack", web.port, password="T0/B0/canary"), MESSAGE, [])
    assert "canary" not in str(caught.value)
    assert len(web.posts) == 1  # a redirection is not followed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Connection(conn_id="ops", conn_type="postgres"), "'postgres', by which nobody"),
        (Connection(conn_id="ops", conn_type="webhook", host="file://x"), "no http or https URL"),
        (Connection(conn_id="ops", conn_type="smtp"), "needs from and to"),
        (connection("webhook", 1), "127.0.0.1 is not reached"),
        (by_mail(1), "It cannot be sent"),
    ],
)
def test_what_cannot_be_sent_says_why(given: Connection, said: str) -> None:
    with pytest.raises(NotificationError, match=said):
        send(given, MESSAGE, [])


@pytest.mark.parametrize(
    ("conn_type", "given"),
    [
        ("slack", {"password": "T0/B0/cana ry"}),
        ("slack", {"password": "http://[canary/x"}),
        ("slack", {"password": "http://127.0.0.1:canary/x"}),
        ("webhook", {"extra": {"token": "cana\nry"}}),
    ],
)
def test_a_url_or_a_header_that_cannot_be_is_an_error_that_does_not_quote_it(
    web: Received, conn_type: str, given: Any
) -> None:
    with pytest.raises(NotificationError, match=r"may not be there|no http or https") as caught:
        send(connection(conn_type, web.port, **given), MESSAGE, [])
    assert "cana" not in str(caught.value)
    assert web.posts == []


def test_an_answer_that_is_no_http_is_an_error() -> None:
    with socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def answer() -> None:
            with server.accept()[0] as peer:
                peer.recv(2**16)
                peer.sendall(b"220 canary\r\n")

        thread = Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(NotificationError, match="gives no answer that is HTTP: BadStatusLine"):
            send(connection("webhook", server.getsockname()[1]), MESSAGE, [])
        thread.join()
