"""Notifications through the real services: from failing tasks to a web server that fails first."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any

import pytest

from headway.db.reads import deadline_views, notification_views
from headway.db.reads.notification_views import NotificationView
from headway.testing.services.stack import running_stack

pytestmark = [pytest.mark.services, pytest.mark.long]

DAGS = Path(__file__).parents[1] / "dags" / "notifications"
PASSWORD = f"canary-hook-{token_hex(4)}"


class Receiver(ThreadingHTTPServer):
    """Takes posts, but not the first one."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posts.append((self.headers["Idempotency-Key"], said))
        self.send_response(503 if len(self.server.posts) == 1 else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_failures_and_missed_deadlines_reach_a_server_that_fails_first(
    tmp_path_factory: pytest.TempPathFactory, receiver: Receiver
) -> None:
    given = {
        "HEADWAY_CONN_HOOK": f"webhook://http://me:{PASSWORD}@127.0.0.1:{receiver.server_port}",
        "HEADWAY_SCHEDULER_DEADLINE_CHECK_INTERVAL": "0.2",
        "HEADWAY_SCHEDULER_NOTIFICATION_GATHER_TIME": "3",
        "HEADWAY_SCHEDULER_NOTIFICATION_SPACING": "1",
        "HEADWAY_WORKER_BASE_URL": "https://headway.example/",
        "HEADWAY_WORKER_SLOTS": "4",
    }
    home = tmp_path_factory.mktemp("notifications")
    with running_stack(home, DAGS, given) as stack:
        done = stack.headway("connections", "grant", "hook", "notified")
        assert done.returncode == 0, done.stderr
        run = stack.run("notified")

        def all_sent(_: object) -> list[NotificationView] | None:
            with stack.engine.connect() as conn:
                rows = notification_views.notifications(conn, run.dag_id, run.run_id)
            told = {row.event for row in rows} == {"failure", "missed_deadline"}
            return rows if told and all(row.state == "success" for row in rows) else None

        rows = stack.until(all_sent, "all notifications to be sent")
        with stack.engine.connect() as conn:
            [deadline] = deadline_views.deadlines(conn, run.dag_id, run.run_id)
        log = stack.headway("callbacks", "logs", "1")

    assert deadline.state == "missed"
    # Once each but for the first, which was refused; that came again under its key.
    keys = [key for key, _ in receiver.posts]
    assert sorted({*keys}) == sorted(str(row.key) for row in rows)
    assert len(keys) == len(rows) + 1
    assert keys.count(keys[0]) == 2
    assert sum(row.tries for row in rows) == len(rows) + 1
    said = dict(receiver.posts)
    failed = [message for message in said.values() if message["event"] == "failure"]
    # 20 tasks and the run itself; a flood is told by few messages.
    assert sum(message["count"] for message in failed) == 21
    assert len(failed) <= 3
    assert all(f"/dags/notified/runs/{run.run_id[:6]}" in message["body"] for message in failed)
    assert PASSWORD not in json.dumps(receiver.posts)
    assert "no rows for" in json.dumps(failed)
    assert "callback found http://127.0.0.1" in log.stdout
