"""Where the pages of a run and of a task instance are, for a task to tell people."""

from typing import Final
from urllib.parse import quote, urlencode

from headway.sdk.running.facts import RunFacts

DEFAULT_BASE: Final = "http://localhost:8793"
"""What addresses begin with where no other is set: the API at its usual port."""


def run_page(facts: RunFacts) -> str:
    """Return the page of the run."""
    base = (facts.base_url or DEFAULT_BASE).rstrip("/")
    return f"{base}/dags/{_part(facts.dag_id)}/runs/{_part(facts.run_id)}"


def log_page(facts: RunFacts) -> str:
    """Return the page of the attempt's log."""
    place = f"{run_page(facts)}/tasks/{_part(facts.task_id)}/attempts/{facts.try_number}/log"
    return place + _query(facts, {})


def mark_success_page(facts: RunFacts) -> str:
    """Return the page that marks the task instance as a success."""
    return f"{run_page(facts)}/mark-success" + _query(facts, {"task": facts.task_id})


def _part(name: str) -> str:
    return quote(name, safe=":@+")


def _query(facts: RunFacts, more: dict[str, object]) -> str:
    index = {} if facts.map_index < 0 else {"map_index": facts.map_index}
    given = {**more, **index}
    return f"?{urlencode(given)}" if given else ""
