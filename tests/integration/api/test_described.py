"""The OpenAPI document says what the API does: requests made from it get documented answers.

Half of the requests name a DAG, a run and a task that are there.  No request of a viewer changes
a row.
"""

from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.integration.api.conftest import Api
from tests.integration.api.rows import content

from headway.domain.accounts import AccountRole
from headway.testing.data import seed as seeding

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

STREAMS: Final = ("/live", "/wait")
"""Operations that answer for as long as they are read."""

OWN_TOKENS: Final = "/headway/v1/tokens/"
"""Every account revokes its own tokens, and so does a viewer."""

EXAMPLES: Final = 5
"""Requests for each operation."""

THERE: Final = {
    "dag_id": "etl",
    "dag": "etl",
    "task_id": "work",
    "task": "work",
    "map_index": -1,
    "version_number": 1,
    "pool_name": "default_pool",
}


def run_id_of(api: Api) -> str:
    """Return the id of a run of which one task is running."""
    seeding.running(api.engine, seeding.dag())
    with api.engine.connect() as conn:
        found: str = conn.exec_driver_sql("SELECT run_id FROM dag_run").scalar_one()
        return found


def tried(operation: APIOperation[Any, Any, Any, Any], token: str, there: dict[str, object]) -> int:
    """Send requests for an operation; return how many were answered by what was asked for."""
    well = 0

    @seed(5)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def send(data: st.DataObject) -> None:
        nonlocal well
        case = data.draw(operation.as_strategy())
        if data.draw(st.booleans()):
            known = {name: value for name, value in there.items() if name in case.path_parameters}
            case.path_parameters.update(known)
        answer = case.call(headers={"Authorization": f"Bearer {token}"})
        case.validate_response(answer, checks=CHECKS)
        well += answer.status_code < 300

    send()
    return well


@pytest.mark.parametrize(
    "role",
    [
        AccountRole.VIEWER,
        pytest.param(AccountRole.OPERATOR, marks=pytest.mark.long),
        AccountRole.ADMIN,
    ],
)
def test_requests_get_the_answers_that_are_documented(api: Api, role: AccountRole) -> None:
    run_id = run_id_of(api)
    there: dict[str, object] = {**THERE, "dag_run_id": run_id, "run_id": run_id, "run": run_id}
    token = api.token("ann", role)
    before = content(api)
    schema = schemathesis.openapi.from_asgi("/openapi.json", api.app)
    described = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    operations = [
        each
        for each in described
        if not each.path.endswith(STREAMS)
        and not each.path.startswith("/auth/")
        and not (role is AccountRole.VIEWER and each.path.startswith(OWN_TOKENS))
    ]

    well, wrong = 0, list[str]()
    for operation in operations:
        try:
            well += tried(operation, token, there)
        except FailureGroup as found:
            wrong += [f"{operation.label}: {each}" for each in found.exceptions]

    assert wrong == [], "\n".join(wrong)
    assert len(operations) >= 100
    assert well >= len(operations)
    if role is AccountRole.VIEWER:
        assert content(api) == before
