"""The SMTP provider against aiosmtpd."""

import email
import email.policy
from collections.abc import Iterator

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.providers.conftest import RunDag

from headway.testing.metrics.scraping import free_port

SOURCE = """
import pendulum
from airflow import DAG
from airflow.providers.smtp.operators.smtp import EmailOperator

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None):
    EmailOperator(
        task_id="mail", conn_id="post", to="a@example.org", from_email="h@example.org",
        subject="sales of {{ ds }}", html_content="<b>{{ ds_nodash }}</b>",
    )
"""


class Inbox:
    """Keep what comes."""

    def __init__(self) -> None:
        self.letters: list[str] = []

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        self.letters.append(content.decode())
        return "250 taken"


@pytest.fixture
def inbox() -> Iterator[tuple[Inbox, int]]:
    inbox = Inbox()
    controller = Controller(inbox, hostname="127.0.0.1", port=free_port())
    controller.start()
    yield inbox, controller.port
    controller.stop()


def test_a_letter_is_sent(run_dag: RunDag, inbox: tuple[Inbox, int]) -> None:
    kept, port = inbox
    extra = {"disable_ssl": True, "disable_tls": True}
    post = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}

    run_dag(SOURCE, post=post)

    letter = email.message_from_string(kept.letters[0], policy=email.policy.default)
    body = letter.get_body()
    assert letter["subject"] == "sales of 2024-01-05"
    assert body is not None
    assert body.get_content().strip() == "<b>20240105</b>"


def test_the_sender_is_that_of_the_connection(run_dag: RunDag, inbox: tuple[Inbox, int]) -> None:
    kept, port = inbox
    extra = {"disable_ssl": True, "disable_tls": True, "from_email": "sales-{{ ds }}@example.org"}
    post = {"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra}

    run_dag(SOURCE.replace('from_email="h@example.org",', ""), post=post)

    letter = email.message_from_string(kept.letters[0], policy=email.policy.default)
    assert letter["from"] == "sales-2024-01-05@example.org"
