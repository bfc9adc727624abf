"""What a notification says: one thing, or a flood of them, with a link and by a template."""

from typing import Any

import pytest

from headway.domain.connection import Connection
from headway_worker.child.notification import masked
from headway_worker.notifications.message import LONGEST_CAUSE, NotificationError, compose
from headway_worker.protocol.notification_order import NotificationOrder

FAILED = {
    "id": 1,
    "task_id": "land",
    "map_index": -1,
    "attempt": 3,
    "reason": "failed",
    "cause": "ValueError: no rows",
    "created_at": "2024-01-02T00:00:00+00:00",
}


def order(**given: Any) -> NotificationOrder:
    usual: dict[str, Any] = {
        "key": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "event": "failure",
        "dag_id": "flights",
        "run_id": "manual__1",
        "interval_start": "2024-01-01T00:00:00+00:00",
        "interval_end": "2024-01-02T00:00:00+00:00",
        "connection": "ops",
        "subject": None,
        "body": None,
        "to": [],
        "events": 1,
        "told": [FAILED],
        "base_url": "",
    }
    return NotificationOrder(**{**usual, **given})


def test_it_says_what_has_happened_and_where_to_look() -> None:
    message = compose(order())

    assert message.subject == "flights: task land in manual__1 failed"
    assert message.body == (
        "flights: task land in manual__1 failed.\n\n"
        "- land, attempt 3, failed: ValueError: no rows\n\n"
        "`headway runs show flights manual__1`"
    )


def test_of_a_flood_it_says_how_many_and_names_the_first() -> None:
    mapped = {**FAILED, "map_index": 7}
    message = compose(order(events=500, told=[FAILED, mapped]))

    assert message.subject == "flights: 500 times failed in manual__1"
    assert "- land[7], attempt 3, failed" in message.body
    assert "... and 498 more" in message.body


def test_of_a_run_and_of_a_deadline() -> None:
    run = {**FAILED, "task_id": None, "map_index": None, "attempt": None, "cause": None}
    late = {**run, "reason": "1:00:00 after due", "cause": "2024-01-02T01:00:00Z"}

    assert "- the run, failed\n" in compose(order(told=[run])).body
    message = compose(order(event="missed_deadline", told=[late]))
    assert message.subject == "flights: run manual__1 late"
    assert "- the run, 1:00:00 after due: 2024-01-02T01:00:00Z" in message.body


def test_a_link_begins_with_the_base_url() -> None:
    body = compose(order(base_url="https://headway.example", run_id="a/b +1")).body

    assert body.endswith("https://headway.example/dags/flights/runs/a%2Fb%20%2B1")


def test_templates_have_the_facts_and_a_subject_is_one_line() -> None:
    message = compose(
        order(
            subject="{{ dag_id }}\r\nBcc: all@example.com",
            body="{{ count }} of {{ run_id }}: {{ events[0].cause }}",
        )
    )

    assert message.subject == "flights Bcc: all@example.com"
    assert message.body == "1 of manual__1: ValueError: no rows"


@pytest.mark.parametrize("template", ["{{ nobody }}", "{{ 1 / 0 }}", "{{ events[9].cause }}"])
def test_a_template_that_fails_is_an_error_that_names_what_it_knows(template: str) -> None:
    with pytest.raises(NotificationError, match=r"body fails: .* It knows id, event, dag_id"):
        compose(order(body=template))


def test_a_template_gets_at_nothing_of_the_process() -> None:
    with pytest.raises(NotificationError, match="fails"):
        compose(order(body="{{ dag_id.__class__.__mro__ }}"))


def test_long_errors_are_cut() -> None:
    assert "x" * LONGEST_CAUSE in (
        body := compose(order(told=[{**FAILED, "cause": "x" * 9999}])).body
    )
    assert "x" * (LONGEST_CAUSE + 1) not in body


def test_what_the_connection_has_of_secrets_is_masked() -> None:
    secret = "canary-hook-T000/B000"
    quoting = [{**FAILED, "cause": f"401 from https://hooks.example/{secret}"}]
    connection = Connection(conn_id="ops", conn_type="slack", password=secret)

    message = masked(compose(order(told=quoting)), connection)

    assert secret not in f"{message}"
    assert message.facts["dag_id"] == "flights"


def test_what_is_no_secret_of_the_connection_stays_and_so_do_names() -> None:
    extra: dict[str, Any] = {
        "severity": "critical",
        "to": "ops@example.com",
        "api_token": "cause-attempt",
        "headers": {"X-Team": "canary-header"},
        "url": ["json://canary-url"],
    }
    said = 'critical "cause-attempt" canary-header json://canary-url ops@example.com\n'
    connection = Connection(conn_id="ops", conn_type="http", password="events", extra=extra)

    message = masked(compose(order(told=[{**FAILED, "cause": said}])), connection)

    events = message.facts["events"]
    assert isinstance(events, list)
    assert events[0] == {**FAILED, "cause": 'critical "***" *** *** ops@example.com\n'}
    assert "critical" in message.body
    assert "canary" not in message.body
