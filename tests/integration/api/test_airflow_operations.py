"""Each operation of Airflow's client is supported, or refused with the reason."""

import re

from starlette.testclient import TestClient
from tests.integration.api.airflow_operations import (
    PAGE,
    methods,
    operations,
    page_with,
    refused,
    supported,
    table,
)
from tests.integration.api.conftest import Api

from headway_api.airflow.refused import REFUSED


def test_the_client_has_130_methods_of_which_two_are_in_two_classes() -> None:
    assert len(list(methods())) == 130
    assert len(operations()) == 128


def test_each_operation_is_supported_or_refused_and_none_is_both(api: Api) -> None:
    there, reasons = supported(api.app), refused()

    neither = [it for it in operations() if it.shape not in there | reasons.keys()]

    assert not neither
    assert not there & reasons.keys()


def test_nothing_is_refused_that_the_client_does_not_have() -> None:
    assert refused().keys() <= {it.shape for it in operations()}
    assert len(refused()) == len(REFUSED)


def test_each_refusal_says_why(admin: TestClient) -> None:
    for it in REFUSED:
        answer = admin.request(it.method, f"/api/v2{_filled(it.path)}")

        assert (answer.status_code, it) == (501, it)
        assert answer.json()["code"] == "not_in_headway"
        assert answer.json()["detail"] == it.why
        assert re.fullmatch(r"[A-Z].{20,}\.", it.why)


def test_refusals_are_for_those_who_are_signed_in(api: Api) -> None:
    answer = api.client().get("/api/v2/assets")

    assert answer.status_code == 401


def test_each_supported_operation_is_routed_to_what_the_document_says(
    api: Api, admin: TestClient
) -> None:
    there = supported(api.app)
    for it in operations():
        if it.shape in there:
            answer = admin.request(it.method, _filled(it.path), json=[])

            assert answer.status_code not in {405, 501}, it
            assert "There is nothing at" not in str(answer.json()), it


def test_the_table_of_the_docs_is_the_one_of_the_code(api: Api) -> None:
    page = PAGE.read_text()

    assert page_with(table(api.app), page) == page


def test_errors_of_clients_are_plain_json_and_others_are_problems(admin: TestClient) -> None:
    missing, refused_there = admin.get("/api/v2/dags/nothing"), admin.get("/api/v2/assets")

    assert missing.headers["content-type"] == "application/json"
    assert refused_there.headers["content-type"] == "application/problem+json"


def test_a_limit_without_a_number_is_none(admin: TestClient) -> None:
    assert admin.get("/api/v2/dags/~/dagRuns?limit=").status_code == 200
    assert admin.get("/api/v2/dags/~/dagRuns?limit=x").status_code == 422


def _filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "1", path)
