"""Connections and variables through Airflow's client, as it is; no secret ever leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.connection_api import ConnectionApi
from airflow_client.client.api.variable_api import VariableApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.connection_body import ConnectionBody
from airflow_client.client.models.variable_body import VariableBody
from sqlalchemy import Engine
from starlette.testclient import TestClient
from tests.integration.api.conftest import Airflow

from headway.actions.installation import secrets
from headway.domain.accounts import AccountRole
from headway.domain.connection import Connection
from headway.domain.variable import SecretKind, StoredVariable
from headway.runtime.settings.secret_keys import keys, make_keys_file
from headway.testing.data import granted, seed
from headway_api.airflow.secrets.hidden import HIDDEN

CANARY = "canary-8f1e"
WHOLE: dict[str, Any] = {
    "connection_id": "pg",
    "conn_type": "postgres",
    "description": "The warehouse.",
    "host": f"{CANARY}.example",
    "login": f"{CANARY}-login",
    "password": f"{CANARY}-password",
    "schema": f"{CANARY}-schema",
    "port": 5432,
    "extra": json.dumps({"token": f"{CANARY}-extra"}),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with keys."""
    found = tmp_path / "home"
    found.mkdir()
    monkeypatch.setenv("HEADWAY_HOME", str(found))
    make_keys_file(found)
    return found


def whole(given: dict[str, Any] = WHOLE) -> ConnectionBody:
    made = ConnectionBody.from_dict(given)
    assert made is not None
    return made


def stored(engine: Engine, kind: SecretKind, name: str) -> Any:
    with engine.begin() as conn:
        return secrets.look(conn, kind, name, keys)


def variable(engine: Engine, name: str) -> StoredVariable:
    found = stored(engine, SecretKind.VARIABLE, name)
    assert isinstance(found, StoredVariable)
    return found


def connection(engine: Engine, name: str) -> Connection:
    found = stored(engine, SecretKind.CONNECTION, name)
    assert isinstance(found, Connection)
    return found


def status_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiException) as refused:
        call()
    assert CANARY not in str(refused.value.body)
    return int(refused.value.status)


def test_a_variable_is_set_and_never_shown(engine: Engine, airflow_client: ApiClient) -> None:
    api = VariableApi(airflow_client)

    made = api.post_variable(VariableBody(key="v", value=CANARY, description="A word."))
    listed = api.get_variables().variables

    assert (made.key, made.value, made.description) == ("v", HIDDEN, "A word.")
    assert made.is_encrypted
    assert listed == [made]
    assert api.get_variable("v") == made
    assert variable(engine, "v").value == CANARY
    api.delete_variable("v")
    assert status_of(lambda: api.get_variable("v")) == 404
    assert status_of(lambda: api.delete_variable("v")) == 404


def test_a_variable_is_changed_as_far_as_the_mask_says(
    engine: Engine, airflow_client: ApiClient
) -> None:
    api = VariableApi(airflow_client)
    with engine.begin() as conn:
        plain = StoredVariable(key="v", value="before", plain=True)
        secrets.store(conn, plain, keys(), "user:ann")

    masked = api.patch_variable(
        "v", VariableBody(key="v", value="x", description="New."), update_mask=["description"]
    )
    assert (masked.description, variable(engine, "v").value) == ("New.", "before")
    sent_back = api.patch_variable("v", VariableBody(key="v", value=HIDDEN))
    assert (sent_back.description, variable(engine, "v").value) == ("New.", "before")
    api.patch_variable("v", VariableBody(key="v", value={"a": [1]}))
    assert variable(engine, "v") == StoredVariable(key="v", value='{"a": [1]}', plain=True)


def test_a_variable_that_cannot_be_is_refused(airflow_client: ApiClient) -> None:
    api = VariableApi(airflow_client)
    api.post_variable(VariableBody(key="v", value="x"))

    assert status_of(lambda: api.post_variable(VariableBody(key="v", value=CANARY))) == 409
    assert status_of(lambda: api.post_variable(VariableBody(key="w", value=HIDDEN))) == 422
    assert status_of(lambda: api.post_variable(VariableBody(key="a b", value=CANARY))) == 400
    nul = VariableBody(key="w", value=f"{CANARY}\0")
    assert status_of(lambda: api.post_variable(nul)) == 422
    other = VariableBody(key="w", value=CANARY)
    assert status_of(lambda: api.patch_variable("v", other)) == 422
    assert status_of(lambda: api.patch_variable("w", other)) == 404


def test_without_keys_nothing_is_stored(home: Path, airflow_client: ApiClient) -> None:
    (home / "secret-keys").unlink()
    api = VariableApi(airflow_client)

    with pytest.raises(ApiException) as caught:
        api.post_variable(VariableBody(key="v", value=CANARY))
    assert (int(caught.value.status or 0), str(home) in str(caught.value.body)) == (422, False)
    assert "HEADWAY_SECRETS_KEYS_FILE" in str(caught.value.body)
    assert api.get_variables().total_entries == 0


def test_what_is_wrong_with_the_keys_is_told_in_the_log_alone(
    home: Path, airflow_client: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "secret-keys").write_text("no key")

    with pytest.raises(ApiException) as caught:
        VariableApi(airflow_client).post_variable(VariableBody(key="v", value=CANARY))

    assert (int(caught.value.status or 0), str(home) in str(caught.value.body)) == (500, False)
    assert str(home) in caplog.text


def test_a_connection_is_stored_and_only_its_type_is_shown(
    engine: Engine, airflow_client: ApiClient, admin: TestClient
) -> None:
    api = ConnectionApi(airflow_client)

    made = api.post_connection(whole())
    raw = admin.get("/api/v2/connections/pg")

    assert (made.connection_id, made.conn_type) == ("pg", "postgres")
    assert made.description == "The warehouse."
    assert {made.host, made.login, made.password, made.var_schema, made.extra} == {HIDDEN}
    assert made.port is None
    assert CANARY not in raw.text + admin.get("/api/v2/connections").text
    assert api.get_connections().connections == [made]
    assert api.get_connection("pg") == made
    assert connection(engine, "pg").to_fields() == {
        **{name: WHOLE[name] for name in ("conn_type", "host", "login", "password")},
        "schema": WHOLE["schema"],
        "port": 5432,
        "extra": {"token": f"{CANARY}-extra"},
    }
    api.delete_connection("pg")
    assert status_of(lambda: api.get_connection("pg")) == 404
    assert status_of(lambda: api.delete_connection("pg")) == 404


def test_a_connection_that_is_sent_back_stays_as_it_is(
    engine: Engine, airflow_client: ApiClient
) -> None:
    api = ConnectionApi(airflow_client)
    shown = api.post_connection(whole())
    before = connection(engine, "pg").to_fields()

    sent = {name: value for name, value in shown.to_dict().items() if value is not None}
    api.patch_connection("pg", whole({**sent, "host": "new.example"}))
    after = connection(engine, "pg").to_fields()
    masked = ConnectionBody(connection_id="pg", conn_type="mysql", login="ann", host="x")
    api.patch_connection("pg", masked, update_mask=["login"])
    last = connection(engine, "pg").to_fields()

    assert after == {**before, "host": "new.example"}
    assert last == {**after, "login": "ann"}
    assert api.get_connection("pg").description == "The warehouse."


def test_a_connection_that_cannot_be_is_refused(airflow_client: ApiClient) -> None:
    api = ConnectionApi(airflow_client)
    api.post_connection(whole())

    def given(**more: Any) -> ConnectionBody:
        return whole({"connection_id": "w", "conn_type": "http", **more})

    assert status_of(lambda: api.post_connection(given(connection_id="pg"))) == 409
    assert status_of(lambda: api.post_connection(given(password=HIDDEN))) == 422
    assert status_of(lambda: api.post_connection(given(extra=f"{CANARY}: no JSON"))) == 422
    assert status_of(lambda: api.post_connection(given(port=0, password=CANARY))) == 422
    assert status_of(lambda: api.patch_connection("pg", given())) == 422
    assert status_of(lambda: api.patch_connection("w", given())) == 404


def test_a_rehearsal_stores_nothing(admin: TestClient) -> None:
    dry = {"dry_run": True}

    assert admin.post("/api/v2/variables", params=dry, json={"key": "v", "value": "x"}).is_success
    assert admin.post("/api/v2/connections", params=dry, json=WHOLE).is_success
    assert admin.get("/api/v2/variables").json()["total_entries"] == 0
    assert admin.get("/api/v2/connections").json()["total_entries"] == 0


def test_lists_are_filtered_by_name(airflow_client: ApiClient) -> None:
    variables, connections = VariableApi(airflow_client), ConnectionApi(airflow_client)
    for name in ("a_1", "ab1"):
        variables.post_variable(VariableBody(key=name, value="x"))
        connections.post_connection(ConnectionBody(connection_id=name, conn_type="http"))

    found = variables.get_variables(variable_key_prefix_pattern="a_")
    reverse = connections.get_connections(order_by=["-connection_id"], limit=1)

    assert [it.key for it in found.variables] == ["a_1"]
    assert ([it.connection_id for it in reverse.connections], reverse.total_entries) == (["ab1"], 2)
    assert connections.get_connections(connection_id_pattern="B1").total_entries == 1
    assert variables.get_variable("a_1").key == "a_1"


def test_an_operator_changes_no_secret(airflow: Airflow, airflow_client: ApiClient) -> None:
    body = whole()
    value = VariableBody(key="v", value="x")
    ConnectionApi(airflow_client).post_connection(body)
    VariableApi(airflow_client).post_variable(value)
    client = airflow.client("operator", AccountRole.OPERATOR)
    variables, connections = VariableApi(client), ConnectionApi(client)

    assert connections.get_connection("pg").password == HIDDEN
    for call in (
        lambda: variables.post_variable(value),
        lambda: variables.patch_variable("v", value),
        lambda: variables.delete_variable("v"),
        lambda: connections.post_connection(body),
        lambda: connections.patch_connection("pg", body),
        lambda: connections.delete_connection("pg"),
    ):
        assert status_of(call) == 403


def test_what_no_dag_of_the_bundles_is_granted_is_not_there(
    engine: Engine, airflow: Airflow, airflow_client: ApiClient
) -> None:
    seed.store(engine, seed.dag(dag_id="mine"))
    for name in ("v", "w"):
        VariableApi(airflow_client).post_variable(VariableBody(key=name, value="x"))
        made = ConnectionBody(connection_id=name, conn_type="http")
        ConnectionApi(airflow_client).post_connection(made)
    for kind in SecretKind:
        granted.grant(engine, "mine", kind=kind)
        granted.grant(engine, "mine", kind=kind, name="only_granted")
    client = airflow.client("ann", AccountRole.VIEWER, ("main",))
    variables, connections = VariableApi(client), ConnectionApi(client)

    assert [it.key for it in variables.get_variables().variables] == ["v"]
    assert [it.connection_id for it in connections.get_connections().connections] == ["v"]
    assert status_of(lambda: variables.get_variable("w")) == 404
    assert status_of(lambda: connections.get_connection("w")) == 404
    assert status_of(lambda: variables.get_variable("only_granted")) == 404
