"""DAGs through Airflow's client, as it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.dag_api import DAGApi
from airflow_client.client.api.dag_parsing_api import DAGParsingApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.dag_patch_body import DAGPatchBody
from sqlalchemy import Engine, text
from tests.integration.api.conftest import Airflow

from headway.domain.accounts import AccountRole
from headway.domain.dag.spec import TimetableSpec
from headway.testing.data import seed

PAUSE = DAGPatchBody(is_paused=True)
UNPAUSE = DAGPatchBody(is_paused=False)


@pytest.fixture
def dags(engine: Engine) -> None:
    """Three DAGs, of which the last is in another bundle."""
    daily = replace(seed.dag(dag_id="a_daily"), tags=("etl", "core"), description="Daily.")
    limited = replace(seed.task("t"), max_active_tis_per_dag=1)
    never = replace(seed.dag(limited, dag_id="b_never"), timetable=TimetableSpec(name="null"))
    seed.store_all(engine, [daily, never, seed.dag(dag_id="c_secret")])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET bundle = 'other' WHERE dag_id = 'c_secret'"))


def journal(engine: Engine) -> list[tuple[str, str, str]]:
    with engine.connect() as conn:
        found = conn.execute(text("SELECT actor, action, dag_id FROM event ORDER BY id"))
        return [tuple(row) for row in found if row.action.startswith("dag.")]


@pytest.mark.usefixtures("dags")
def test_dags_are_listed_with_what_their_versions_say(airflow_client: ApiClient) -> None:
    page = DAGApi(airflow_client).get_dags()

    assert page.total_entries == 3
    assert [dag.dag_id for dag in page.dags] == ["a_daily", "b_never", "c_secret"]
    daily, never, _ = page.dags
    assert (daily.description, daily.bundle_name) == ("Daily.", "main")
    assert [tag.name for tag in daily.tags] == ["etl", "core"]
    assert (daily.is_backfillable, never.is_backfillable) == (True, False)
    assert (daily.has_task_concurrency_limits, never.has_task_concurrency_limits) == (False, True)
    assert daily.timetable_summary
    assert never.timetable_summary is None
    assert DAGApi(airflow_client).get_dags() == page


def test_a_dag_is_called_what_people_call_it(airflow_client: ApiClient, engine: Engine) -> None:
    seed.store(engine, replace(seed.dag(), dag_display_name="Our flights", tags=("core",)))
    seed.store(engine, seed.dag(dag_id="plain"))

    named, plain = DAGApi(airflow_client).get_dags().dags

    assert (named.dag_display_name, plain.dag_display_name) == ("Our flights", "plain")
    assert named.tags[0].dag_display_name == "Our flights"


@pytest.mark.usefixtures("dags")
def test_dags_are_paged_by_offset_and_ordered(airflow_client: ApiClient) -> None:
    api = DAGApi(airflow_client)

    first = api.get_dags(limit=2, order_by=["-dag_id"])
    second = api.get_dags(limit=2, offset=2, order_by=["-dag_id"])

    found = [dag.dag_id for page in (first, second) for dag in page.dags]
    assert found == ["c_secret", "b_never", "a_daily"]


@pytest.mark.usefixtures("dags")
def test_dags_are_filtered(airflow_client: ApiClient) -> None:
    api = DAGApi(airflow_client)
    api.patch_dag("b_never", PAUSE)

    found = [
        api.get_dags(dag_id_pattern="SECRET"),
        api.get_dags(dag_id_prefix_pattern="a_"),
        api.get_dags(tags=["etl", "none"]),
        api.get_dags(tags=["etl", "none"], tags_match_mode="all"),
        api.get_dags(paused=True),
        api.get_dags(bundle_name="other"),
        api.get_dags(has_import_errors=True),
    ]

    assert [[dag.dag_id for dag in page.dags] for page in found] == [
        ["c_secret"],
        ["a_daily"],
        ["a_daily"],
        [],
        ["b_never"],
        ["c_secret"],
        [],
    ]


@pytest.mark.usefixtures("dags")
def test_a_filter_that_headway_does_not_have_is_refused(airflow_client: ApiClient) -> None:
    with pytest.raises(ApiException) as refused:
        DAGApi(airflow_client).get_dags(owners=["ann"])

    assert refused.value.status == 422
    assert "owners" in str(refused.value.body)


@pytest.mark.usefixtures("dags")
def test_a_dag_is_shown_in_brief_and_in_detail(airflow_client: ApiClient) -> None:
    api = DAGApi(airflow_client)

    brief, details = api.get_dag("a_daily"), api.get_dag_details("a_daily")

    assert (brief.dag_id, brief.is_paused, brief.is_stale) == ("a_daily", False, False)
    assert (details.catchup, details.timezone, details.start_date) == (True, "UTC", seed.START)
    assert details.latest_dag_version is not None
    assert details.latest_dag_version.version_number == 1


@pytest.mark.usefixtures("dags")
def test_a_dag_that_no_file_defines_is_shown_as_stale(
    airflow_client: ApiClient, engine: Engine
) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false WHERE dag_id = 'b_never'"))
    api = DAGApi(airflow_client)

    assert api.get_dag("b_never").is_stale
    assert api.get_dags().total_entries == 2
    assert api.get_dags(exclude_stale=False).total_entries == 3


@pytest.mark.usefixtures("dags")
def test_an_unknown_dag_is_not_found_and_the_nearest_is_named(airflow_client: ApiClient) -> None:
    with pytest.raises(ApiException) as missing:
        DAGApi(airflow_client).get_dag("a_dayly")

    assert missing.value.status == 404
    assert "a_daily" in str(missing.value.body)


@pytest.mark.usefixtures("dags")
def test_a_dag_is_paused_and_the_journal_says_by_whom(
    airflow_client: ApiClient, engine: Engine
) -> None:
    api = DAGApi(airflow_client)

    paused = api.patch_dag("a_daily", PAUSE)
    api.patch_dag("a_daily", PAUSE)
    unpaused = api.patch_dag("a_daily", UNPAUSE)

    assert (paused.is_paused, unpaused.is_paused) == (True, False)
    actions = [(action, dag_id) for _, action, dag_id in journal(engine)]
    assert actions == [("dag.pause", "a_daily"), ("dag.unpause", "a_daily")]


@pytest.mark.usefixtures("dags")
def test_dags_are_paused_by_a_pattern(airflow_client: ApiClient) -> None:
    api = DAGApi(airflow_client)

    changed = api.patch_dags(PAUSE, dag_id_pattern="er")

    assert [(dag.dag_id, dag.is_paused) for dag in changed.dags] == [("b_never", True)]
    assert [dag.is_paused for dag in api.get_dags().dags] == [False, True, False]
    with pytest.raises(ApiException) as refused:
        api.patch_dags(PAUSE)
    assert refused.value.status == 422
    assert api.patch_dags(PAUSE, dag_id_pattern="~").total_entries == 3


@pytest.mark.usefixtures("dags")
def test_dags_paused_by_a_filter_of_what_is_changed_are_all_changed(
    airflow_client: ApiClient,
) -> None:
    api = DAGApi(airflow_client)

    changed = api.patch_dags(PAUSE, dag_id_pattern="~", paused=False)

    assert [dag.is_paused for dag in changed.dags] == [True, True, True]


@pytest.mark.usefixtures("dags")
def test_a_rehearsed_pause_changes_nothing(airflow: Airflow, engine: Engine) -> None:
    client = airflow.api.client(airflow.api.token("ann"))

    shown = client.patch("/api/v2/dags/a_daily?dry_run=true", json={"is_paused": True})

    assert (shown.status_code, shown.json()["is_paused"]) == (200, True)
    assert client.get("/api/v2/dags/a_daily").json()["is_paused"] is False
    assert journal(engine) == []


@pytest.mark.usefixtures("dags")
def test_tags_are_listed(airflow_client: ApiClient) -> None:
    api = DAGApi(airflow_client)

    assert (api.get_dag_tags().tags, api.get_dag_tags().total_entries) == (["core", "etl"], 2)
    assert api.get_dag_tags(tag_name_pattern="TL").tags == ["etl"]
    assert api.get_dag_tags(order_by=["-name"], limit=1, offset=1).tags == ["core"]


@pytest.mark.usefixtures("dags")
def test_a_dag_is_deleted_with_its_history(airflow_client: ApiClient, engine: Engine) -> None:
    api = DAGApi(airflow_client)

    api.delete_dag("b_never")

    assert [dag.dag_id for dag in api.get_dags().dags] == ["a_daily", "c_secret"]
    assert [action for _, action, _ in journal(engine)] == ["dag.delete"]


def test_a_dag_with_a_run_that_has_not_ended_is_not_deleted(
    airflow_client: ApiClient, engine: Engine
) -> None:
    seed.start_run(engine, seed.dag())

    with pytest.raises(ApiException) as refused:
        DAGApi(airflow_client).delete_dag("etl")

    assert refused.value.status == 409
    assert DAGApi(airflow_client).get_dag("etl").is_paused is False


@pytest.mark.usefixtures("dags")
def test_a_file_is_parsed_by_the_token_of_its_dag(
    airflow_client: ApiClient, engine: Engine
) -> None:
    with engine.begin() as conn:
        conn.execute(
            text("INSERT INTO dag_file (bundle, relative_path) VALUES ('main', :path)"),
            {"path": "a_daily.py"},
        )
    token = DAGApi(airflow_client).get_dag("a_daily").file_token

    DAGParsingApi(airflow_client).reparse_dag_file(token)

    with engine.connect() as conn:
        asked = conn.scalars(text("SELECT relative_path FROM dag_file WHERE parse_requested"))
        assert list(asked) == ["a_daily.py"]
    for unknown in ("!!", "eHh4"):
        with pytest.raises(ApiException) as missing:
            DAGParsingApi(airflow_client).reparse_dag_file(unknown)
        assert missing.value.status == 404


@pytest.mark.usefixtures("dags")
def test_a_viewer_reads_and_changes_nothing(airflow: Airflow, engine: Engine) -> None:
    api = DAGApi(airflow.client("vera", AccountRole.VIEWER))
    token = api.get_dag("a_daily").file_token

    changes: list[Callable[[], object]] = [
        lambda: api.patch_dag("a_daily", PAUSE),
        lambda: api.patch_dags(PAUSE, dag_id_pattern="~"),
        lambda: api.delete_dag("a_daily"),
        lambda: DAGParsingApi(api.api_client).reparse_dag_file(token),
    ]
    for change in changes:
        with pytest.raises(ApiException) as refused:
            change()
        assert refused.value.status == 403
    assert journal(engine) == []


@pytest.mark.usefixtures("dags")
def test_an_account_of_a_bundle_sees_no_dag_of_another(airflow: Airflow, engine: Engine) -> None:
    hidden = DAGApi(airflow.client("admin")).get_dag("c_secret").file_token
    api = DAGApi(airflow.client("olga", AccountRole.OPERATOR, ("main",)))

    listed = api.get_dags()
    assert (listed.total_entries, [dag.dag_id for dag in listed.dags]) == (
        2,
        ["a_daily", "b_never"],
    )
    asked: list[Callable[[], object]] = [
        lambda: api.get_dag("c_secret"),
        lambda: api.get_dag_details("c_secret"),
        lambda: api.patch_dag("c_secret", PAUSE),
        lambda: DAGParsingApi(api.api_client).reparse_dag_file(hidden),
        lambda: api.get_dag("c_secrets"),
    ]
    for ask in asked:
        with pytest.raises(ApiException) as missing:
            ask()
        assert missing.value.status == 404
        assert "hint" not in str(missing.value.body)
    assert api.patch_dags(PAUSE, dag_id_pattern="~").total_entries == 2
    assert not DAGApi(airflow.client("admin2")).get_dag("c_secret").is_paused
    assert {dag_id for _, _, dag_id in journal(engine)} == {"a_daily", "b_never"}
