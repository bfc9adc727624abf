"""Connections and variables in the database: encrypted, journalled, encrypted anew."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.dags.delete import begin_deletion, continue_deletion
from headway.actions.installation import secrets as actions
from headway.db.access.logins import Login
from headway.db.reads import secret_views
from headway.db.schema import METADATA
from headway.db.users import secrets
from headway.domain.connection import Connection
from headway.domain.errors import ConflictError, NotFoundError, SecretError
from headway.domain.variable import Secret, SecretKind, StoredVariable
from headway.runtime.secrets.keyring import Key, KeyRing, new_key
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, just_before, waiting_before
from headway.testing.database.logins import logged_in

CANARY = "canary-8f1e-0c5d"
ANN = "user:ann"
OLD, NEW = new_key("old"), new_key("new")
BEFORE, BOTH, AFTER = KeyRing((OLD,)), KeyRing((NEW, OLD)), KeyRing((NEW,))
DB = Connection(conn_id="db", conn_type="postgres", password=CANARY, extra={"token": CANARY})


@pytest.fixture
def user(database_url: str) -> Iterator[Engine]:
    with logged_in(database_url, Login.USER) as engine:
        yield engine


def put(engine: Engine, *secret: Secret, keys: KeyRing = BEFORE, **options: Any) -> None:
    with engine.begin() as conn:
        for each in secret:
            actions.store(conn, each, keys, ANN, **options)


def stored(engine: Engine, kind: SecretKind, name: str, keys: KeyRing) -> Secret | None:
    with engine.begin() as conn:
        return actions.read(conn, kind, name, lambda: keys)


def rotate(engine: Engine, keys: KeyRing, batch: int = 100) -> int:
    """Do what `headway secrets rotate` does."""
    total, after = 0, ("", "")
    while True:
        with engine.begin() as conn:
            count, after = actions.rotate(conn, keys, after, batch, ANN)
        if not count:
            return total
        total += count


def dump(engine: Engine) -> str:
    """Every row of every table as text, and bytes as they are as well."""
    found = []
    with engine.connect() as conn:
        for table in sorted(METADATA.tables):
            for row in conn.execute(text(f"SELECT * FROM {table}")):
                values = [
                    bytes(value).decode("latin-1") if isinstance(value, memoryview) else value
                    for value in row
                ]
                found.append(f"{table} {values}")
    return "\n".join(found)


def journal(engine: Engine) -> list[tuple[str, str | None, dict[str, Any]]]:
    with engine.connect() as conn:
        rows = conn.execute(text("SELECT action, dag_id, details FROM event ORDER BY id"))
        return [(row.action, row.dag_id, row.details) for row in rows]


def test_a_user_stores_grants_shows_and_deletes(engine: Engine, user: Engine) -> None:
    """As headway_user, whose grants suffice; every step is in the journal, and no secret is."""
    put(user, DB, StoredVariable(key="v", value=CANARY), description="of a test")
    put(user, replace(DB, host="h"), StoredVariable(key="v", value="eu", plain=True), keys=AFTER)
    with user.begin() as conn:
        assert actions.grant(conn, SecretKind.CONNECTION, "db", ["etl", "*"], ANN) == 2
        assert actions.grant(conn, SecretKind.CONNECTION, "db", ["etl"], ANN) == 0
        assert actions.grant(conn, SecretKind.VARIABLE, "elsewhere", ["etl"], ANN) == 1
    with user.begin() as conn:
        assert actions.show(conn, SecretKind.CONNECTION, "db", lambda: AFTER, ANN) == replace(
            DB, host="h"
        )
        assert actions.export(conn, SecretKind.VARIABLE, lambda: AFTER, ANN) == [
            StoredVariable(key="v", value="eu", plain=True)
        ]
        [listed] = secret_views.secrets(conn, SecretKind.CONNECTION)
        assert (listed.name, listed.type, listed.dags) == ("db", "postgres", ["*", "etl"])
        granted, set_ = secret_views.secrets(conn, SecretKind.VARIABLE)
        assert (granted.name, granted.type, granted.dags) == ("elsewhere", None, ["etl"])
        assert (set_.type, set_.key_id, set_.dags) == ("plain", "new", [])
    with user.begin() as conn:
        actions.revoke(conn, SecretKind.CONNECTION, "db", ["*"], ANN)
        actions.delete(conn, SecretKind.CONNECTION, "db", ANN)
        assert secret_views.secrets(conn, SecretKind.CONNECTION) == []

    stored_ = {"type": "postgres", "key_id": "old", "replaced": False, "connection": "db"}
    set_v = {"type": "secret", "key_id": "old", "replaced": False, "variable": "v"}
    assert journal(engine) == [
        ("connection.set", None, stored_),
        ("variable.set", None, set_v),
        ("connection.set", None, {**stored_, "key_id": "new", "replaced": True}),
        ("variable.set", None, {**set_v, "type": "plain", "key_id": "new", "replaced": True}),
        ("connection.grant", "etl", {"connection": "db"}),
        ("connection.grant", None, {"connection": "db", "every_dag": True}),
        ("variable.grant", "etl", {"variable": "elsewhere"}),
        ("connection.show", None, {"connection": "db"}),
        ("variable.export", None, {"variables": 1}),
        ("connection.revoke", None, {"connection": "db", "every_dag": True}),
        ("connection.delete", None, {"connection": "db"}),
    ]  # fmt: skip


def test_what_is_stored_is_written_without_its_value_where_it_is_written_down() -> None:
    sealed = BEFORE.seal(SecretKind.VARIABLE, "v", CANARY)

    written = repr(secrets.StoredSecret(SecretKind.VARIABLE, "v", "variable", None, sealed))

    assert "variable" in written
    assert "Sealed" not in written


def test_what_is_there_is_replaced_only_if_that_is_meant(engine: Engine) -> None:
    put(engine, DB)

    with pytest.raises(ConflictError, match="There is a connection"):
        put(engine, replace(DB, password="other"), replace=False)
    assert stored(engine, SecretKind.CONNECTION, "db", BEFORE) == DB


def test_what_another_one_adds_meanwhile_is_not_replaced_either(engine: Engine) -> None:
    with (
        just_before(engine, secrets.ADD, lambda: put(engine, DB, replace=False)),
        pytest.raises(ConflictError, match="There is a connection"),
    ):
        put(engine, replace(DB, password="other"), replace=False)

    assert stored(engine, SecretKind.CONNECTION, "db", BEFORE) == DB
    assert len(journal(engine)) == 1


def test_what_is_not_there_is_said_to_be_absent_and_leaves_no_event(engine: Engine) -> None:
    for action in (
        lambda conn: actions.delete(conn, SecretKind.VARIABLE, "v", ANN),
        lambda conn: actions.show(conn, SecretKind.VARIABLE, "v", lambda: AFTER, ANN),
        lambda conn: actions.revoke(conn, SecretKind.VARIABLE, "v", ["etl"], ANN),
    ):
        with pytest.raises(NotFoundError, match="variable 'v'"), engine.begin() as conn:
            action(conn)
    assert journal(engine) == []


def test_a_dump_of_the_database_holds_no_secret(engine: Engine) -> None:
    put(engine, DB, StoredVariable(key="v", value=CANARY))
    rotate(engine, BOTH)
    with engine.begin() as conn:
        actions.show(conn, SecretKind.CONNECTION, "db", lambda: BOTH, ANN)

    found = dump(engine)
    assert "postgres" in found
    assert CANARY not in found
    assert CANARY.encode().hex() not in found


def test_without_the_key_nothing_is_read_and_nothing_rotated(engine: Engine) -> None:
    put(engine, StoredVariable(key="a", value=CANARY))
    put(engine, StoredVariable(key="b", value=CANARY), keys=KeyRing((Key("old", NEW.secret),)))
    before = dump(engine)

    with pytest.raises(SecretError, match="'old', which is not among the keys here"):
        stored(engine, SecretKind.VARIABLE, "a", AFTER)
    with pytest.raises(SecretError, match="variable 'b' cannot be decrypted"):
        stored(engine, SecretKind.VARIABLE, "b", BEFORE)
    with pytest.raises(SecretError, match="variable 'b' cannot be decrypted"):
        rotate(engine, BOTH)
    assert dump(engine) == before


def test_a_value_that_was_moved_in_the_database_does_not_open(engine: Engine) -> None:
    put(engine, StoredVariable(key="a", value="mine"), StoredVariable(key="b", value="yours"))
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'a')")
        )

    with pytest.raises(SecretError, match="variable 'b' cannot be decrypted"):
        stored(engine, SecretKind.VARIABLE, "b", BEFORE)


def test_rotation_goes_on_in_batches_while_values_are_read_and_set(engine: Engine) -> None:
    names = [f"v{number:02}" for number in range(30)]
    put(engine, DB, *(StoredVariable(key=name, value=f"{name} {CANARY}") for name in names))
    stop, wrong = Event(), []

    def use() -> int:
        rounds = 0
        while not stop.is_set() or rounds == 0:
            for name in names[::3]:
                found = stored(engine, SecretKind.VARIABLE, name, BOTH)
                if not isinstance(found, StoredVariable) or not found.value.startswith(name):
                    wrong.append(found)
                put(engine, StoredVariable(key=name, value=f"{name} {rounds}"), keys=BOTH)
            rounds += 1
        return rounds

    with in_background(use) as using:
        try:
            assert rotate(engine, BOTH, batch=4) <= 31
        finally:
            stop.set()
        rounds = using.result()

    assert wrong == []
    assert rotate(engine, BOTH) == 0
    assert stored(engine, SecretKind.CONNECTION, "db", AFTER) == DB
    for name in names:
        last = CANARY if name not in names[::3] else str(rounds - 1)
        assert stored(engine, SecretKind.VARIABLE, name, AFTER) == StoredVariable(
            key=name, value=f"{name} {last}"
        )


def test_a_value_set_while_it_is_encrypted_anew_is_not_lost(engine: Engine) -> None:
    """The rotation has locked the old value: whoever sets another one comes after it."""
    put(engine, StoredVariable(key="v", value="old"))

    def set_another() -> None:
        put(engine, StoredVariable(key="v", value="new"), keys=BOTH)

    with waiting_before(engine, secrets.RESEAL, set_another):
        assert rotate(engine, BOTH) == 1

    assert stored(engine, SecretKind.VARIABLE, "v", AFTER) == StoredVariable(key="v", value="new")


def test_a_value_set_just_before_it_would_be_locked_is_left_alone(engine: Engine) -> None:
    put(engine, StoredVariable(key="v", value="old"))

    def set_another() -> None:
        put(engine, StoredVariable(key="v", value="new"), keys=BOTH)

    with just_before(engine, secrets.LOCK_OUTDATED, set_another):
        assert rotate(engine, BOTH) == 0

    assert stored(engine, SecretKind.VARIABLE, "v", AFTER) == StoredVariable(key="v", value="new")


def test_a_dag_that_is_deleted_leaves_no_grant_to_the_next_one_of_its_name(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        actions.grant(conn, SecretKind.CONNECTION, "db", ["etl", "other", "*"], ANN)
        begin_deletion(conn, "etl", Author(ANN), anyway=True)
    while True:
        with engine.begin() as conn:
            if not continue_deletion(conn, "etl"):
                break

    with engine.connect() as conn:
        [listed] = secret_views.secrets(conn, SecretKind.CONNECTION)
    assert listed.dags == ["*", "other"]
