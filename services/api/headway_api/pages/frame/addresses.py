"""Where the pages are: every link of a template is made here."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode

_OF_PAGE = {"cursor", "tz"}
"""Parameters that say how a list is shown, not what is in it."""

HOME = "/"
DAGS = "/dags"
RUNS = "/runs"
JOURNAL = "/journal"
PROCESSES = "/processes"
POOLS = "/pools"
BACKFILLS = "/backfills"
NEW_BACKFILL = "/backfills/new"
DEADLINES = "/deadlines"
MESSAGES = "/messages"
COST = "/cost"
TOKENS = "/tokens"
ACCOUNTS = "/accounts"
CONNECTIONS = "/connections"
VARIABLES = "/variables"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"


def dag(dag_id: str, **query: object) -> str:
    """Return the page of a DAG."""
    return f"{DAGS}/{_part(dag_id)}{_query(query)}"


def run(dag_id: str, run_id: str, **query: object) -> str:
    """Return the page of a DAG run."""
    return f"{dag(dag_id)}/runs/{_part(run_id)}{_query(query)}"


def task(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str:
    """Return the page of a task instance."""
    index = "" if map_index < 0 else f"/{map_index}"
    return f"{run(dag_id, run_id)}/tasks/{_part(task_id)}{index}"


def log(dag_id: str, run_id: str, task_id: str, map_index: int, attempt: int) -> str:
    """Return the page of an attempt's log."""
    place = task(dag_id, run_id, task_id)
    return f"{place}/attempts/{attempt}/log{_query({'map_index': map_index})}"


def account(name: str, kind: str) -> str:
    """Return the page of a change of an account."""
    return f"{ACCOUNTS}/{_part(name)}/{kind}"


def secret(kind: str, name: str, change: str, dag_id: str | None = None) -> str:
    """Return the page of a change of a connection or a variable, or of a grant to a DAG."""
    return f"/{kind}s/{_part(name)}/{change}{_query({'dag': dag_id})}"


def process_drain(number: int) -> str:
    """Return the page that has a worker drain."""
    return f"{PROCESSES}/{number}/drain"


def spark(dag_id: str, run_id: str, task_id: str, map_index: int, attempt: int) -> str:
    """Return the page of what an attempt does in Spark."""
    place = task(dag_id, run_id, task_id)
    return f"{place}/attempts/{attempt}/spark{_query({'map_index': map_index})}"


def cost(**query: object) -> str:
    """Return the page of what DAGs took in Spark."""
    return f"{COST}{_query(query)}"


def log_at(place: str, byte: int) -> str:
    """Return the link to the line that begins at a byte, within the page of a log."""
    return f"{place}{'&' if '?' in place else '?'}from={byte}#b{byte}"


def log_stream(place: str, byte: int) -> str:
    """Return where lines come from that follow a byte of the log whose page is there."""
    path, _, query = place.partition("?")
    return f"{path}/stream?from={byte}{'&' if query else ''}{query}"


def raw_log(dag_id: str, run_id: str, task_id: str, map_index: int, attempt: int) -> str:
    """Return where the whole log of an attempt is, as text."""
    path = (
        f"/api/v2/dags/{_part(dag_id)}/dagRuns/{_part(run_id)}"
        f"/taskInstances/{_part(task_id)}/logs/{attempt}"
    )
    return path + _query({"map_index": map_index})


def xcom(dag_id: str, run_id: str, task_id: str, map_index: int, key: str) -> str:
    """Return where the value of an XCom is, as JSON."""
    path = (
        f"/api/v2/dags/{_part(dag_id)}/dagRuns/{_part(run_id)}"
        f"/taskInstances/{_part(task_id)}/xcomEntries/{_part(key)}"
    )
    return path + _query({"map_index": map_index})


def graph(dag_id: str, version: int | None = None) -> str:
    """Return the page of the graph of a version, by default of the one in force."""
    return f"{dag(dag_id)}/graph{_query({'version': version})}"


def folding(path: str, query: str, group_id: str) -> str:
    """Return a page with a group folded; or unfolded, if the query of the page has it folded."""
    now = [value for name, value in parse_qsl(query) if name == "folded"]
    others = [name for name in now if name != group_id]
    return folded(path, query, others if len(others) < len(now) else [*now, group_id])


def folded(path: str, query: str, group_ids: Sequence[str]) -> str:
    """Return a page with just these groups folded."""
    kept = [pair for pair in parse_qsl(query) if pair[0] != "folded"]
    kept += [("folded", group_id) for group_id in group_ids]
    return f"{path}?{urlencode(kept)}" if kept else path


def run_graph(dag_id: str, run_id: str) -> str:
    """Return the page of a run's graph."""
    return f"{run(dag_id, run_id)}/graph"


def versions(dag_id: str) -> str:
    """Return the page of a DAG's versions."""
    return f"{dag(dag_id)}/versions"


def version(dag_id: str, number: int) -> str:
    """Return the page of a version."""
    return f"{versions(dag_id)}/{number}"


def file(dag_id: str, number: int, path: str) -> str:
    """Return the page of a file as a version has it."""
    return f"{version(dag_id, number)}/files/{quote(path)}"


def difference(dag_id: str, old: int, new: int) -> str:
    """Return the page of what changed from one version to another one."""
    return f"{version(dag_id, old)}/diff/{new}"


def calendar(dag_id: str, month: str | None = None) -> str:
    """Return the calendar of a DAG, whose last month is that one, such as 2024-05."""
    return f"{dag(dag_id)}/calendar{_query({'month': month})}"


def journal(**query: object) -> str:
    """Return the journal, narrowed to what the query says."""
    return f"{JOURNAL}{_query(query)}"


def pool(name: str) -> str:
    """Return the page of a pool."""
    return f"{POOLS}/{_part(name)}"


def backfill(number: int) -> str:
    """Return the page of a backfill."""
    return f"{BACKFILLS}/{number}"


def new_backfill(dag_id: str) -> str:
    """Return the page of a new backfill of a DAG."""
    return f"{NEW_BACKFILL}{_query({'dag': dag_id})}"


def backfill_change(number: int, kind: str) -> str:
    """Return the page that pauses, resumes or cancels a backfill."""
    return f"{backfill(number)}/{kind}"


def dag_change(dag_id: str, kind: str) -> str:
    """Return the page that pauses, unpauses or triggers a DAG."""
    return f"{dag(dag_id)}/{kind}"


def cells(dag_id: str, **query: object) -> str:
    """Return where the cells of a grid are, in binary form."""
    return f"/headway/v1/dags/{_part(dag_id)}/grid{_query(query)}"


def outlined_cells(dag_id: str, **query: object) -> str:
    """Return where the rows of a grid with groups are, and their cells, in the same form."""
    return f"{dag(dag_id)}/cells{_query(query)}"


def cells_change(dag_id: str, kind: str, run_ids: Sequence[str], task_ids: Sequence[str]) -> str:
    """Return the page of a change of these tasks in these runs."""
    return f"{dag(dag_id)}/cells/{kind}{_query({'run': list(run_ids), 'task': list(task_ids)})}"


def run_change(
    dag_id: str,
    run_id: str,
    kind: str,
    task_id: str | None = None,
    map_index: int = -1,
    *,
    failed: bool = False,
) -> str:
    """Return the page that clears, marks or cancels a run, or a task of it."""
    query = {"task": task_id, "map_index": map_index, "failed": failed or None}
    return f"{run(dag_id, run_id)}/{kind}{_query(query)}"


def export(path: str, query: str, form: str) -> str:
    """Return where what a page lists is as CSV or JSON, from its first row on."""
    kept = [pair for pair in parse_qsl(query) if pair[0] not in _OF_PAGE]
    return f"{path}.{form}{_query(dict(kept))}"


@lru_cache(4_096)  # a page names one DAG, and its runs, again and again
def _part(name: str) -> str:
    return quote(name, safe=":@+")


def _query(given: Mapping[str, object]) -> str:
    known = {name: value for name, value in given.items() if value is not None and value != -1}
    return f"?{urlencode(known, doseq=True)}" if known else ""
