"""Changes to runs and tasks: by whom, rehearsed, once for each key, and in which bundle."""

from typing import Any, Final

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, V1, Clients, move

from headway.testing.data import seed

OF = f"{V1}/runs/etl/{RUN}"
CHANGES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "cancel": (f"{OF}/cancel", {"reason": "wrong"}),
    "clear": (f"{OF}/clear", {"tasks": ["a"], "reason": "wrong"}),
    "mark": (f"{OF}/mark", {"as": "failed", "reason": "wrong"}),
    "mark tasks": (f"{OF}/mark", {"as": "skipped", "tasks": ["b"], "reason": "wrong"}),
    "cancel a task": (f"{V1}/tasks/etl/{RUN}/b/cancel", {"reason": "wrong"}),
}
each = pytest.mark.parametrize("change", CHANGES)


def states(api: Api) -> dict[str, str]:
    return seed.task_states(api.engine)


def journal(api: Api) -> list[tuple[str, str, str | None]]:
    found = text(
        "SELECT actor, action, details ->> 'reason' AS reason FROM event "
        "WHERE dag_id = 'etl' ORDER BY id"
    )
    with api.engine.connect() as conn:
        return [(row.actor, row.action, row.reason) for row in conn.execute(found)]


def test_a_cancelled_run_ends_as_failed(running: Api, clients: Clients) -> None:
    answer = clients.operator.post(f"{OF}/cancel", json={"reason": "wrong"})

    assert answer.json() == {
        "dag_id": "etl",
        "run_id": RUN,
        "changed": True,
        "was": "running",
        "state": "running",
        "moved": {"skipped": 1},
        "stopping": {},
        "remade": 0,
        "added": 0,
        "ends": "failed",
        "versions": None,
        "held": None,
    }
    assert states(running) == {"a": "success", "b": "skipped"}
    assert journal(running)[-1] == ("token:olga/test", "run.cancel", "wrong")


def test_a_run_that_has_ended_cannot_be_cancelled(api: Api, clients: Clients) -> None:
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag()), [0])
    first = clients.operator.post(f"{OF}/cancel")

    again = clients.operator.post(f"{OF}/cancel")

    assert (first.status_code, first.json()["state"]) == (200, "failed")
    assert (again.status_code, again.json()["code"]) == (409, "already_ended")
    assert {"action": "runs.clear", "arguments": {"dag_id": "etl", "run_id": RUN}} in again.json()[
        "hint"
    ]


def test_cleared_tasks_run_again(running: Api, clients: Clients) -> None:
    answer = clients.operator.post(f"{OF}/clear", json={"tasks": ["a"]})

    assert answer.json()["moved"] == {"none": 2}
    assert answer.json()["versions"] == {"before": 1, "after": 1, "in_force": 1, "providers": []}
    assert states(running) == {"a": "none", "b": "none"}


def test_a_whole_run_is_cleared_without_a_body(running: Api, clients: Clients) -> None:
    assert clients.operator.post(f"{OF}/clear").json()["moved"] == {"none": 2}


def test_only_failed_tasks_are_cleared(running: Api, clients: Clients) -> None:
    answer = clients.operator.post(f"{OF}/clear", json={"only_failed": True})

    assert (answer.json()["changed"], answer.json()["moved"]) == (False, {})


def test_a_run_is_given_another_version(running: Api, clients: Clients) -> None:
    seed.store(running.engine, seed.dag(seed.task("a"), seed.task("b", "a"), seed.task("c", "b")))

    answer = clients.operator.post(f"{OF}/clear", json={"version": "latest"})

    assert answer.json()["versions"] == {"before": 1, "after": 2, "in_force": 2, "providers": []}
    assert answer.json()["added"] == 1


def test_a_paused_dag_is_said_to_hold_what_is_cleared(running: Api, clients: Clients) -> None:
    with running.engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true"))

    held = clients.operator.post(f"{OF}/clear").json()["held"]

    assert {"action": "dags.unpause", "arguments": {"dag_id": "etl"}} in held


def test_tasks_and_runs_are_marked(running: Api, clients: Clients) -> None:
    task = clients.operator.post(f"{OF}/mark", json={"as": "success", "tasks": ["b"]})
    run = clients.operator.post(f"{OF}/mark", json={"as": "failed"})

    assert task.json()["moved"] == {"success": 1}
    assert run.json()["ends"] == "failed"
    assert [action for _, action, _ in journal(running)][-2:] == ["task.mark", "run.mark"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"as": "skipped"},
        {"as": "running", "tasks": ["b"]},
        {"as": "failed", "map_index": 1},
        {"as": "failed", "task": "b"},
    ],
)
def test_what_cannot_be_marked_is_refused(
    running: Api, clients: Clients, body: dict[str, Any]
) -> None:
    assert clients.operator.post(f"{OF}/mark", json=body).status_code == 422
    assert states(running) == {"a": "success", "b": "scheduled"}


def test_a_cancelled_task_is_skipped_if_it_has_not_begun(running: Api, clients: Clients) -> None:
    answer = clients.operator.post(f"{V1}/tasks/etl/{RUN}/b/cancel", json={"map_index": None})
    ended = clients.operator.post(f"{V1}/tasks/etl/{RUN}/a/cancel")
    unknown = clients.operator.post(f"{V1}/tasks/etl/{RUN}/c/cancel")

    assert answer.json()["moved"] == {"skipped": 1}
    assert (ended.status_code, unknown.status_code) == (409, 404)


@each
def test_a_rehearsal_says_what_would_be_done_and_does_nothing(
    running: Api, clients: Clients, change: str
) -> None:
    path, body = CHANGES[change]
    before = states(running), journal(running)

    would = clients.operator.post(path, json=body, params={"dry_run": True})
    between = states(running), journal(running)
    done = clients.operator.post(path, json=body)

    assert would.headers["headway-dry-run"] == "true"
    assert between == before
    assert would.json() == done.json()
    assert done.json()["changed"] is True


@each
def test_what_is_sent_again_with_its_key_is_done_once(
    running: Api, clients: Clients, change: str
) -> None:
    path, body = CHANGES[change]
    key = {"Idempotency-Key": "one"}

    first = clients.operator.post(path, json=body, headers=key)
    events = journal(running)
    again = clients.operator.post(path, json=body, headers=key)
    other = clients.operator.post(path, json={**body, "reason": "other"}, headers=key)

    assert first.status_code == 200
    assert (again.status_code, again.json()) == (200, first.json())
    assert journal(running) == events
    assert other.status_code == 409


@each
def test_a_viewer_changes_nothing(running: Api, clients: Clients, change: str) -> None:
    path, body = CHANGES[change]

    answer = clients.viewer.post(path, json=body)
    rehearsed = clients.viewer.post(path, json=body, params={"dry_run": True})

    assert (answer.status_code, answer.json()["code"]) == (403, "role_refused")
    assert rehearsed.status_code == 403
    assert states(running) == {"a": "success", "b": "scheduled"}


@each
def test_runs_of_another_bundle_are_not_there_to_be_changed(
    running: Api, clients: Clients, change: str
) -> None:
    path, body = CHANGES[change]

    hidden = clients.limited.post(path, json=body)
    unknown = clients.limited.post(path.replace("etl", "none"), json=body)
    move(running.engine, "etl", "mine")
    own = clients.limited.post(path, json=body)

    assert hidden.status_code == unknown.status_code == 404
    assert hidden.json()["detail"].replace("etl", "none") == unknown.json()["detail"]
    assert own.status_code == 200


@each
def test_a_run_that_is_not_there_is_named_by_its_nearest(
    running: Api, clients: Clients, change: str
) -> None:
    path, body = CHANGES[change]

    answer = clients.operator.post(path.replace("00:00:00", "00:00:01"), json=body)

    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")
    assert RUN in str(answer.json()["hint"])


def test_a_task_that_runs_is_told_to_stop(api: Api, clients: Clients) -> None:
    seed.running(api.engine, seed.dag())

    answer = clients.operator.post(f"{V1}/tasks/etl/{RUN}/work/cancel")

    assert answer.json()["stopping"] == {"failed": 1}
    assert answer.json()["changed"] is True
    assert states(api) == {"work": "running"}


def test_an_admin_of_every_bundle_is_told_the_nearest_dag(running: Api, admin: TestClient) -> None:
    answer = admin.post(f"{V1}/runs/etk/{RUN}/cancel")

    assert (answer.status_code, answer.json()["hint"]) == (404, ["Did you mean etl?"])
