"""What each topic tells: first all of it, then what changes."""

from sqlalchemy import text
from tests.integration.api.live.conftest import LiveApi

from headway.domain.accounts import AccountRole
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

RUN = f"scheduled__{seed.START.isoformat()}"


def test_a_run_is_told_as_a_whole_and_then_by_what_changes(live: LiveApi) -> None:
    engine = live.api.engine
    spec = seed.dag(seed.task("a"), seed.task("b"))
    seed.queued(engine, spec)
    topic = f"run:etl/{RUN}"
    client = live.open(live.api.token("ann"), topic)

    first = client.next()
    claimed = seed.claim(engine, seed.register(engine, "worker"), limit=1)
    live.hub.ring()
    second = client.next()

    assert first.name == "snapshot"
    assert first.data["topic"] == topic
    assert first.data["entries"]["run"]["state"] == "running"
    assert set(first.data["entries"]) == {"run", "task/a", "task/b", "held/queue/default"}
    assert first.data["entries"]["task/b"]["state"] == "queued"
    assert second.name == "change"
    its = f"task/{claimed[0].task_id}"
    assert set(second.data["changed"]) == {its, "held/queue/default"}
    assert second.data["changed"][its]["state"] == "running"
    assert "gone" not in second.data


def test_what_no_notice_tells_of_is_seen_while_a_run_is_unfinished(live: LiveApi) -> None:
    engine = live.api.engine
    [key] = seed.running(engine, seed.dag(seed.task("a")))
    client = live.open(live.api.token("ann"), f"run:etl/{RUN}", f"task:etl/{RUN}/a")
    client.until(lambda: len(client.has) == 2)

    progress = text(
        "INSERT INTO spark_work (task_instance_id, attempt, progress, updated_at)"
        """ VALUES (:task, :attempt, '{"stages": 3}', now())"""
    )
    with engine.begin() as conn:
        conn.execute(progress, {"task": key.task_instance_id, "attempt": key.attempt})
    found = [client.next().data["changed"] for _ in range(2)]

    entries: dict[str, dict[str, object]] = found[0] | found[1]
    assert {name: each["progress"] for name, each in entries.items()} == {
        "task/a": {"stages": 3},
        "attempt/1": {"stages": 3},
    }


def test_a_mapped_task_is_one_entry_with_its_instances_by_state(live: LiveApi) -> None:
    seed.run_mapped(live.api.engine, seed.register(live.api.engine, "worker"), 5)
    client = live.open(live.api.token("ann"), f"run:etl/{RUN}", "dag:etl")

    client.until(lambda: len(client.has) == 2)

    assert (client.has[f"run:etl/{RUN}"] or {})["mapped/m"] == {"running": 5}
    assert (client.has["dag:etl"] or {})[f"cell/{RUN}/m"] == {"running": 5}


def test_a_dag_has_the_cells_of_runs_that_have_not_ended(live: LiveApi) -> None:
    engine = live.api.engine
    keys = seed.running(engine, seed.dag(seed.task("a")))
    client = live.open(live.api.token("ann"), "dag:etl")

    first = client.next().data["entries"]
    seed.report(engine, keys)
    live.hub.ring()
    second = client.next().data
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'success', ended_at = now()"))
    live.hub.ring()
    third = client.next().data

    assert first[f"cell/{RUN}/a"] == "running"
    assert first[f"run/{RUN}"]["state"] == "running"
    assert first["dag"]["paused"] is False
    assert second["changed"] == {f"cell/{RUN}/a": "success"}
    assert third["changed"][f"run/{RUN}"]["state"] == "success"
    assert third["gone"] == [f"cell/{RUN}/a"]


def test_a_task_instance_has_its_attempts(live: LiveApi) -> None:
    engine = live.api.engine
    keys = seed.running(engine, seed.dag(seed.task("a")))
    client = live.open(live.api.token("ann"), f"task:etl/{RUN}/a")

    first = client.next().data["entries"]
    seed.report(engine, keys, Outcome.FAILED)
    live.hub.ring()
    second = client.next().data["changed"]

    assert set(first) == {"task", "attempt/1"}
    assert first["attempt/1"] | {"worker": "host", "phase": "running"} == first["attempt/1"]
    assert second["attempt/1"]["outcome"] == "failed"


def test_an_instance_of_a_mapped_task_is_named_by_its_index(live: LiveApi) -> None:
    seed.run_mapped(live.api.engine, seed.register(live.api.engine, "worker"), 2)
    client = live.open(live.api.token("ann"), f"task:etl/{RUN}/m/1", f"task:etl/{RUN}/m")

    client.until(lambda: len(client.has) == 2)

    assert set(client.has[f"task:etl/{RUN}/m/1"] or {}) == {"task", "attempt/1"}
    assert client.has[f"task:etl/{RUN}/m"] is None


def test_a_backfill_has_its_runs_counted_and_its_dates(live: LiveApi) -> None:
    engine = live.api.engine
    version = seed.store(engine, seed.dag())
    plan = text("""
        WITH made AS (
            INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
            VALUES ('etl', now(), now(), 1, 1) RETURNING id)
        INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start,
                                   interval_end, decision, reason, run_id)
        SELECT id, 1, now(), now(), now(), 'create', 'new', 'r' FROM made
        RETURNING backfill_id
    """)
    with engine.begin() as conn:
        number = conn.execute(plan).scalar_one()
    client = live.open(live.api.token("ann"), f"backfill:{number}")

    first = client.next().data["entries"]
    seed.create_runs(engine, version, [0], number)
    second = client.next().data["changed"]

    assert first["date/1"] == {"decision": "create", "run_id": "r", "state": None}
    assert (first["backfill"]["planned"], first["backfill"]["queued"]) == (1, 0)
    assert second["backfill"]["queued"] == 1


def test_pools_tell_what_takes_their_slots(live: LiveApi) -> None:
    engine = live.api.engine
    seed.make_pool(engine, "small", 2)
    client = live.open(live.api.token("ann"), "pools")

    first = client.next().data["entries"]
    seed.queued(engine, seed.in_pool(seed.dag(seed.task("a")), "small"))
    live.hub.ring()
    second = client.next().data["changed"]

    assert first["pool/small"]["slots"] == 2
    assert second == {"pool/small": first["pool/small"] | {"queued": 1}}


def test_home_has_what_runs_and_what_has_failed(live: LiveApi) -> None:
    engine = live.api.engine
    seed.start_run(engine, seed.dag())
    client = live.open(live.api.token("ann"), "home")

    first = client.next().data["entries"]
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))
        conn.execute(
            text(
                "INSERT INTO import_error (bundle, relative_path, error)"
                " VALUES ('main', 'x.py', 'broken')"
            )
        )
    live.hub.ring()
    second = client.next().data

    counts = second["changed"]["counts"]
    none = {"import_errors": 0, "latest_import_error_at": None}
    assert first["counts"] == {"running": 1, "queued": 0, **none}
    assert f"running/etl/{RUN}" in first
    assert (counts["running"], counts["queued"], counts["import_errors"]) == (0, 0, 1)
    assert counts["latest_import_error_at"] is not None
    assert f"failed/etl/{RUN}" in second["changed"]
    assert second["gone"] == [f"running/etl/{RUN}"]


def test_home_tells_of_a_run_that_begins_and_ends_between_two_looks(live: LiveApi) -> None:
    engine = live.api.engine
    version = seed.store(engine, seed.dag())
    client = live.open(live.api.token("ann", AccountRole.VIEWER, ("main",)), "home")
    hidden = live.open(live.api.token("bob", AccountRole.VIEWER, ("sales",)), "home")
    assert not any(name.startswith("ended/") for name in client.next().data["entries"])
    hidden.next()

    seed.create_runs(engine, version, [0])
    with engine.begin() as conn:
        over = text("UPDATE dag_run SET state = 'success', started_at = now(), ended_at = now()")
        conn.execute(over)
    live.hub.ring()

    [name] = told = client.next().data["changed"]
    assert name == f"ended/etl/{RUN}"
    assert told[name]["state"] == "success"
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO import_error VALUES ('sales', 'x.py', 'broken')"))
    live.hub.ring()
    assert set(hidden.next().data["changed"]) == {"counts"}


def test_a_dag_tells_that_its_file_cannot_be_read(live: LiveApi) -> None:
    engine = live.api.engine
    seed.store_all(engine, [seed.dag(), seed.dag(dag_id="other")])
    client = live.open(live.api.token("ann"), "dag:etl")
    first = client.next().data["entries"]["dag"]
    changes = (
        "INSERT INTO import_error VALUES ('main', 'etl.py', 'broken')",
        "UPDATE import_error SET error = 'worse', at = now()",
        "DELETE FROM import_error",
    )
    told = []
    for change in changes:
        with engine.begin() as conn:
            conn.execute(text(change))
        live.hub.ring()
        told.append(client.next().data["changed"]["dag"]["import_error_at"])

    assert first["import_error_at"] is None
    assert told[0] < told[1]
    assert told[2] is None


def test_a_run_tells_who_holds_what_its_tasks_wait_for(live: LiveApi) -> None:
    engine = live.api.engine
    seed.make_pool(engine, "small", 1)
    [one] = seed.running(engine, seed.in_pool(seed.dag(dag_id="one"), "small"))
    seed.running(engine, seed.dag(dag_id="elsewhere"))
    seed.scheduled(engine, seed.in_pool(seed.dag(), "small"))
    client = live.open(live.api.token("ann"), f"run:etl/{RUN}")
    first = client.next().data["entries"]

    seed.report(engine, [one])
    seed.running(engine, seed.in_pool(seed.dag(dag_id="two"), "small"))
    live.hub.ring()
    second = client.next().data["changed"]

    assert first["held/pool/small"]["holders"] == 1
    assert first["held/queue/default"]["holders"] == 2
    assert "held/dag" not in first
    assert second["held/pool/small"]["latest"] > first["held/pool/small"]["latest"]


def test_a_queued_run_tells_which_runs_are_before_it(live: LiveApi) -> None:
    engine = live.api.engine
    version = seed.store(engine, seed.dag())
    first, _ = seed.create_runs(engine, version, [0, 1])
    waits = f"scheduled__{(seed.START + seed.DAY).isoformat()}"
    client = live.open(live.api.token("ann"), f"run:etl/{waits}")
    assert set(client.next().data["entries"]) == {"run"}

    with engine.begin() as conn:
        begun = text("UPDATE dag_run SET state = 'running', started_at = now() WHERE id = :id")
        conn.execute(begun, {"id": first})
    live.hub.ring()

    assert client.next().data["changed"]["held/runs"]["holders"] == 1


def test_home_tells_of_a_process_that_has_no_heartbeat(live: LiveApi) -> None:
    engine = live.api.engine
    seed.register(engine, "worker")
    client = live.open(live.api.token("ann"), "home")

    first = client.next().data["entries"]["processes"]
    with engine.begin() as conn:
        conn.execute(text("UPDATE process_beat SET beat_at = now() - interval '20 seconds'"))
    live.hub.ring()

    assert first["silent"] == 0
    assert client.next().data["changed"]["processes"]["silent"] > 0


def test_what_is_not_there_is_gone_until_it_is_there(live: LiveApi) -> None:
    client = live.open(live.api.token("ann"), "dag:etl")

    first = client.next()
    seed.store(live.api.engine, seed.dag())
    live.hub.ring()
    second = client.next()
    with live.api.engine.begin() as conn:
        conn.execute(text("DELETE FROM dag"))
    live.hub.ring()
    third = client.next()

    assert [first.name, second.name, third.name] == ["gone", "snapshot", "gone"]
    assert first.data.keys() == {"topic", "at"}


def test_the_last_event_id_is_all_that_a_client_needs_to_come_back(live: LiveApi) -> None:
    engine = live.api.engine
    seed.store(engine, seed.dag())
    seed.store(engine, seed.dag(dag_id="other"))
    token = live.api.token("ann")
    first = live.open(token, "dag:etl", "dag:other")
    first.until(lambda: len(first.has) == 2)
    first.close()
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true WHERE dag_id = 'other'"))

    second = live.open(token, "dag:other", "dag:etl", **{"Last-Event-ID": first.number})
    event = second.next()

    assert (event.name, event.data["topic"]) == ("snapshot", "dag:other")
    assert event.number.split(".")[0] == first.number.split(".")[0]


def test_what_a_client_has_is_what_is_there_after_many_changes(live: LiveApi) -> None:
    engine = live.api.engine
    seed.queued(engine, seed.wide(40))
    run = f"run:etl/{RUN}"
    client = live.open(live.api.token("ann"), run, "dag:etl")
    worker = seed.register(engine, "worker")
    while claimed := seed.claim(engine, worker, limit=7):
        seed.report(engine, [each.key for each in claimed], Outcome.SUCCESS)
        live.hub.ring()

    client.until(
        lambda: (
            len(client.has) == 2
            and all(
                entry["state"] == TaskState.SUCCESS
                for name, entry in (client.has[run] or {}).items()
                if name.startswith("task/")
            )
            and {
                value
                for name, value in (client.has["dag:etl"] or {}).items()
                if name.startswith("cell/")
            }
            == {"success"}
        )
    )
    whole = live.open(live.api.token("bob"), run, "dag:etl")
    whole.until(lambda: len(whole.has) == 2)

    assert whole.has == client.has
