"""The operations of Airflow's REST API that Headway does not have, and why; each is refused so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from headway_api.auth.caller import AnyCaller
from headway_api.http.refusals import NotInHeadwayError
from headway_api.http.routers import airflow_router

_ASSETS: Final = (
    "Headway has no assets: a DAG runs by its schedule, by a trigger, or in a backfill."
)
_ASKED: Final = "Headway has no tasks that wait for a person's answer (human in the loop)."
_STATE_STORE: Final = (
    "The API shows no state stores: only a task reads and writes its own, by task_state_store. "
    "Let the task leave an XCom of what others are to see."
)
_ASSET_STORE: Final = "Headway has no assets, and so no store for their state."
_LOGIN: Final = (
    "People sign in at /sign-in. POST /auth/token gives a program a token, and /auth/session "
    "begins and ends a session."
)
_CONFIG: Final = (
    "The API shows no settings, for they may hold secrets: `headway settings` shows them on the "
    "machine."
)
_PLUGINS: Final = "Headway has no plugins."
_PROVIDERS: Final = (
    "The API lists no provider packages: `headway providers list` does, on the machine."
)
_FAVOURITES: Final = "Headway keeps no favourite DAGs of accounts."
_BULK: Final = (
    "Headway changes several things by a request for each, so that each is done or refused alone."
)
_CONNECTION_TEST: Final = (
    "Headway does not test connections: workers may reach what the machine of the API cannot."
)
_DEFAULT_CONNECTIONS: Final = "Headway has no default connections: store those that DAGs use."
_XCOM_CHANGES: Final = "Headway's XComs are what attempts have left; only tasks write them."
_PARTITIONS: Final = "Headway's runs have no partition keys: clear runs by their ids."
_GROUPS: Final = "Headway marks no task group as a whole: mark its tasks by their ids."
_INSTANCE_DELETION: Final = (
    "Headway deletes no single task instance: a run has all tasks of its version. Delete the run."
)
_LINKS: Final = "Headway's operators have no extra links."
_LOG_URLS: Final = "Headway's logs have no address elsewhere: GET …/logs/{try_number} has them."
_SEVERAL_RUNS: Final = (
    "Headway clears a run by a request: POST …/dagRuns/{dag_run_id}/clear, once for each run."
)


@dataclass(frozen=True, slots=True)
class RefusedOperation:
    """An operation that Headway does not have: its method, its path below /api/v2, and why."""

    method: str
    path: str
    why: str


def _each(why: str, *operations: str) -> list[RefusedOperation]:
    """Return these operations, each "METHOD path", which are refused for the same reason."""
    named = (operation.split(" ", 1) for operation in operations)
    return [RefusedOperation(method, path, why) for method, path in named]


_INSTANCES: Final = "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances"
_INSTANCE: Final = f"{_INSTANCES}/{{task_id}}"
_STORE: Final = f"{_INSTANCE}/state-store"
_GROUP: Final = "/dags/{dag_id}/dagRuns/{dag_run_id}/taskGroupInstances/{group_id}"

REFUSED: Final[tuple[RefusedOperation, ...]] = (
    *_each(
        _ASSETS,
        "GET /assets",
        "GET /assets/aliases",
        "GET /assets/aliases/{asset_alias_id}",
        "GET /assets/events",
        "POST /assets/events",
        "GET /assets/{asset_id}",
        "POST /assets/{asset_id}/materialize",
        "GET /assets/{asset_id}/queuedEvents",
        "DELETE /assets/{asset_id}/queuedEvents",
        "GET /dags/{dag_id}/assets/queuedEvents",
        "DELETE /dags/{dag_id}/assets/queuedEvents",
        "GET /dags/{dag_id}/assets/{asset_id}/queuedEvents",
        "DELETE /dags/{dag_id}/assets/{asset_id}/queuedEvents",
        "GET /dags/{dag_id}/dagRuns/{dag_run_id}/upstreamAssetEvents",
    ),
    *_each(
        _ASSET_STORE,
        "GET /assets/{asset_id}/state-store",
        "DELETE /assets/{asset_id}/state-store",
        "GET /assets/{asset_id}/state-store/{key}",
        "PUT /assets/{asset_id}/state-store/{key}",
        "DELETE /assets/{asset_id}/state-store/{key}",
    ),
    *_each(
        _STATE_STORE,
        f"GET {_STORE}",
        f"DELETE {_STORE}",
        f"GET {_STORE}/{{key}}",
        f"PUT {_STORE}/{{key}}",
        f"PATCH {_STORE}/{{key}}",
        f"DELETE {_STORE}/{{key}}",
    ),
    *_each(
        _ASKED,
        "GET /dags/{dag_id}/dagRuns/{dag_run_id}/hitlDetails",
        f"GET {_INSTANCE}/{{map_index}}/hitlDetails",
        f"PATCH {_INSTANCE}/{{map_index}}/hitlDetails",
        f"GET {_INSTANCE}/{{map_index}}/hitlDetails/tries/{{try_number}}",
    ),
    *_each(_LOGIN, "GET /auth/login", "GET /auth/logout"),
    *_each(_CONFIG, "GET /config", "GET /config/section/{section}/option/{option}"),
    *_each(_PLUGINS, "GET /plugins", "GET /plugins/importErrors"),
    *_each(_PROVIDERS, "GET /providers"),
    *_each(_FAVOURITES, "POST /dags/{dag_id}/favorite", "POST /dags/{dag_id}/unfavorite"),
    *_each(
        _BULK,
        "PATCH /connections",
        "PATCH /pools",
        "PATCH /variables",
        "PATCH /dags/{dag_id}/dagRuns",
        f"PATCH {_INSTANCES}",
    ),
    *_each(
        _CONNECTION_TEST,
        "POST /connections/test",
        "POST /connections/enqueue-test",
        "GET /connections/enqueue-test",
    ),
    *_each(_DEFAULT_CONNECTIONS, "POST /connections/defaults"),
    *_each(
        _XCOM_CHANGES,
        f"POST {_INSTANCE}/xcomEntries",
        f"PATCH {_INSTANCE}/xcomEntries/{{xcom_key}}",
        f"DELETE {_INSTANCE}/xcomEntries/{{xcom_key}}",
    ),
    *_each(_SEVERAL_RUNS, "POST /dags/{dag_id}/clearDagRuns"),
    *_each(_PARTITIONS, "POST /dags/{dag_id}/clearPartitions"),
    *_each(_GROUPS, f"PATCH {_GROUP}", f"PATCH {_GROUP}/dry_run"),
    *_each(_INSTANCE_DELETION, f"DELETE {_INSTANCE}"),
    *_each(_LINKS, f"GET {_INSTANCE}/links"),
    *_each(_LOG_URLS, f"GET {_INSTANCE}/externalLogUrl/{{try_number}}"),
)
"""Every operation of Airflow's client that is not among the paths of the OpenAPI document."""

router = airflow_router("refused")


def _refusal(why: str) -> Callable[..., NoReturn]:
    def refuse(caller: AnyCaller) -> NoReturn:
        del caller  # whoever is not signed in learns nothing
        raise NotInHeadwayError(why)

    return refuse


for _it in REFUSED:
    router.add_api_route(
        _it.path,
        _refusal(_it.why),
        methods=[_it.method],
        response_model=None,
        include_in_schema=False,
    )
