"""`dag.test()`: what it takes, and where what it does is found."""

from datetime import datetime
from pathlib import Path
from re import Pattern
from typing import Any, Final, TypedDict

from headway.domain.errors import DagError, NotFoundError
from headway.sdk.values import checks

LOCAL: Final = "headway.local"
"""The entry points by which a DAG runs in the process of its author."""


class TrialOptions(TypedDict, total=False):
    """What `dag.test()` takes; the names are Airflow's."""

    logical_date: datetime | str | None
    run_after: datetime | None
    run_conf: dict[str, Any] | None
    conn_file_path: str | Path | None
    variable_file_path: str | Path | None
    mark_success_pattern: str | Pattern[str] | None
    use_executor: bool


_REFUSED: Final = {
    "execution_date": "execution_date is an old name; write logical_date=….",
    "session": "there is no session, as no database is used; leave it out.",
}


def run_here(dag: Any, options: TrialOptions) -> Any:
    """Run a DAG in this process; what does it is reached by its entry point alone."""
    where = f"DAG {dag.dag_id!r}: test()"
    checks.known(options, TrialOptions.__annotations__, where, _REFUSED)
    if options.get("use_executor"):
        raise DagError(
            f"{where}: use_executor is not there, as tasks run in this process; leave it out, "
            "and trigger the DAG to run it on workers."
        )
    from importlib.metadata import entry_points  # which few need, and takes long to import

    found = tuple(entry_points(group=LOCAL, name="dag_test"))
    if not found:
        raise NotFoundError(f"{where} needs the whole of headway; install it anew.")
    return found[0].load()(dag, options)
