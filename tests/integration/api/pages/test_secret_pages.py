"""Connections and variables by pages: they are set, granted and deleted, and never shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.pages.conftest import HTML

from headway.domain.accounts import AccountRole
from headway.runtime.secrets.keyring import new_key
from headway.runtime.settings import secret_keys

WORD = "hunter2-hunter2"
CONNECTION = {
    "name": "warehouse",
    "conn_type": "postgres",
    "host": "db.example",
    "password": WORD,
    "port": "5432",
    "extra": '{"token": "hunter2-hunter2"}',
    "dags": "etl, nightly",
}


@pytest.fixture
def admin(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser of an admin, where there are keys to encrypt by."""
    file = tmp_path / "keys"
    secret_keys.write_keys(file, [new_key()])
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS_FILE", str(file))
    with api.client(api.token("ada", AccountRole.ADMIN)) as client:
        client.headers.update(HTML)
        yield client


def test_a_connection_is_set_and_granted_and_its_values_are_nowhere(
    api: Api, admin: TestClient
) -> None:
    stored = admin.post("/connections", data=CONNECTION)

    assert "The connection warehouse is stored." in stored.text
    for page in (stored.text, admin.get("/connections").text, admin.get("/journal").text):
        assert WORD not in page
    assert "nightly" in stored.text
    assert "postgres" in stored.text


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ("/connections", {"port": "x"}, "The port is a whole number"),
        ("/connections", {"extra": "[]"}, "The extra is a JSON object"),
        ("/connections", {"conn_type": "P G"}, "may hold only small letters"),
        ("/connections", {"name": ""}, "connection"),
        ("/variables", {"name": "a b"}, "variable"),
    ],
)
def test_a_wrong_form_comes_back_without_what_is_secret(
    admin: TestClient, path: str, change: dict[str, str], said: str
) -> None:
    answer = admin.post(path, data={**CONNECTION, "value": WORD, **change})
    assert 'role="alert"' in answer.text
    assert said in answer.text
    assert WORD not in answer.text
    assert 'value="etl, nightly"' in answer.text


def test_nothing_is_replaced_that_was_not_meant_to_be(api: Api, admin: TestClient) -> None:
    form = {"name": "limit", "value": "10"}
    assert "is stored" in admin.post("/variables", data=form).text
    assert (
        "There is a variable &#39;limit&#39; already." in admin.post("/variables", data=form).text
    )
    assert "is stored" in admin.post("/variables", data={**form, "replace": "yes"}).text


def test_grants_are_given_and_taken_back_after_a_preview(admin: TestClient) -> None:
    admin.post("/variables", data={"name": "limit", "value": "10"})

    shown = admin.get("/variables/limit/grant?dag=etl").text
    assert "Attempts of DAG etl that begin from now on may read the variable limit." in shown
    assert "no DAG" in admin.get("/variables").text
    admin.post("/variables/limit/grant", data={"dag": "etl"})
    assert "Revoke limit from etl" in admin.get("/variables").text
    admin.post("/variables/limit/revoke", data={"dag": "etl"})
    assert "no DAG" in admin.get("/variables").text
    assert admin.get("/variables/limit/grant").status_code == 422


def test_a_grant_may_be_for_the_files_of_a_bundle(admin: TestClient) -> None:
    admin.post("/variables", data={"name": "limit", "value": "10", "dags": "bundle:more"})

    shown = admin.get("/variables/limit/grant?dag=bundle:dags").text
    said = "DAG files of bundle dags that are parsed from now on may read the variable limit."
    assert said in shown
    admin.post("/variables/limit/grant", data={"dag": "bundle:dags"})
    page = admin.get("/variables").text
    assert "Revoke limit from the files of bundle dags" in page
    assert "no DAG" not in page
    admin.post("/variables/limit/revoke", data={"dag": "bundle:dags"})
    page = admin.get("/variables").text
    assert "files of bundle more" in page
    assert "files of bundle dags" not in page


def test_a_deleted_one_is_gone_with_its_grants(api: Api, admin: TestClient) -> None:
    admin.post("/connections", data=CONNECTION)

    assert "is deleted with all grants" in admin.get("/connections/warehouse/delete").text
    assert "warehouse" in admin.get("/connections").text
    admin.post("/connections/warehouse/delete", data={})
    assert "There is no connection that you may see." in admin.get("/connections").text
    with api.engine.connect() as conn:
        assert conn.execute(text("SELECT count(*) FROM secret_grant")).scalar_one() == 0
    assert admin.get("/connections/warehouse/delete").status_code == 404


def test_a_viewer_sees_names_and_changes_nothing(admin: TestClient, viewer: TestClient) -> None:
    admin.post("/connections", data=CONNECTION)

    page = viewer.get("/connections").text
    assert "warehouse" in page
    assert "Set a connection" not in page
    assert "/delete" not in page
    assert viewer.post("/connections", data=CONNECTION).status_code == 403
    assert viewer.post("/connections/warehouse/delete", data={}).status_code == 403
    assert viewer.get("/connections/warehouse/grant?dag=x").status_code == 403


def test_who_sees_some_bundles_sees_what_their_dags_are_granted(
    admin: TestClient, limited: TestClient
) -> None:
    admin.post("/connections", data=CONNECTION)
    assert "warehouse" not in limited.get("/connections").text
    for bundle in ("mine", "others"):
        admin.post("/connections/warehouse/grant", data={"dag": f"bundle:{bundle}"})
    page = limited.get("/connections").text
    assert "files of bundle mine" in page
    assert "others" not in page
    assert "etl" not in page


def test_a_form_that_is_huge_is_refused(admin: TestClient) -> None:
    answer = admin.post("/variables", data={"name": "big", "value": "x" * 2**20})
    assert answer.status_code == 422
    assert "Use the command line." in answer.text


def test_a_revoked_grant_that_every_dag_has_is_told_of(admin: TestClient) -> None:
    admin.post("/variables", data={"name": "limit", "value": "10", "dags": "etl, *"})
    said = admin.post("/variables/limit/revoke", data={"dag": "etl", "reason": "moved"}).text
    assert "may read it all the same" in said
    assert "moved" in admin.get("/journal").text
