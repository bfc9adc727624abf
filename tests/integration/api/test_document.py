"""The OpenAPI document that is checked in is the one that the API serves."""

import json

from starlette.testclient import TestClient
from tests.integration.api.document import PATH, text


def test_the_document_that_is_checked_in_is_that_of_the_code() -> None:
    assert PATH.read_text() == text(), "run `make api-files`"


def test_the_document_is_served_to_whom_has_a_token_or_none(admin: TestClient) -> None:
    found = admin.get("/openapi.json")

    assert found.status_code == 200
    assert found.json() == json.loads(PATH.read_text())
    assert found.json()["openapi"].startswith("3.1")


def test_no_two_operations_have_one_id() -> None:
    paths = json.loads(PATH.read_text())["paths"]
    ids = [it["operationId"] for methods in paths.values() for it in methods.values()]

    assert len(ids) == len(set(ids)) > 50
