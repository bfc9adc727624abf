"""Where the pages are: every link of a template is made here."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

HOME = "/"
DAGS = "/dags"
RUNS = "/runs"
JOURNAL = "/journal"
PROCESSES = "/processes"
POOLS = "/pools"
BACKFILLS = "/backfills"
DEADLINES = "/deadlines"
MESSAGES = "/messages"
COST = "/cost"
TOKENS = "/tokens"
ACCOUNTS = "/accounts"
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


def graph(dag_id: str, version: int | None = None) -> str:
    """Return the page of the graph of a version, by default of the one in force."""
    return f"{dag(dag_id)}/graph{_query({'version': version})}"


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


def backfill_change(number: int, kind: str) -> str:
    """Return the page that pauses, resumes or cancels a backfill."""
    return f"{backfill(number)}/{kind}"


def dag_change(dag_id: str, kind: str) -> str:
    """Return the page that pauses, unpauses or triggers a DAG."""
    return f"{dag(dag_id)}/{kind}"


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


def _part(name: str) -> str:
    return quote(name, safe=":@+")


def _query(given: Mapping[str, object]) -> str:
    known = {name: value for name, value in given.items() if value is not None and value != -1}
    return f"?{urlencode(known, doseq=True)}" if known else ""
