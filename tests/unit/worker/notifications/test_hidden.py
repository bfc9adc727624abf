"""What the log of a notification hides, and what it is to show."""

from datetime import UTC, datetime
from threading import Event
from typing import Any
from unittest.mock import Mock
from uuid import UUID

from headway.db.execution.notification_claims import ClaimedNotification, NotificationKey
from headway.domain.connection import Connection
from headway.domain.dag.notifiers import NotifyEvent
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.database.callback_database import NotificationWork

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_whom_a_mail_was_for_is_not_hidden_and_secrets_are() -> None:
    extra: dict[str, Any] = {"to": ["a@example.com"], "security": "starttls", "token": "canary"}
    resolver = Mock()
    resolver.read.return_value = Connection(
        conn_id="ops", conn_type="smtp", password="canary-password", extra=extra
    )
    claimed = ClaimedNotification(
        key=NotificationKey(1, UUID(int=1)),
        message_key=UUID(int=2),
        tries=1,
        event=NotifyEvent.FAILURE,
        definition={},
        dag_run_id=1,
        dag_id="flights",
        run_id="r",
        interval_start=NOW,
        interval_end=NOW,
        events=1,
        told=(),
    )
    questions = Questions(Mock(), resolver, Mock(), FakeClock(), Event())

    answer = questions.answer(NotificationWork(claimed), {"ask": "connection", "name": "ops"})

    assert "canary-password" in answer.frame["text"]
    assert answer.secrets == {"canary-password", "canary"}
