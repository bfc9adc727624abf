"""Tasks whose functions run in another Python."""

from typing import Any

from headway.sdk import DAG, task

with DAG("another_python"):

    @task.virtualenv(system_site_packages=False)
    def where(run_id: str) -> list[Any]:
        import sys

        from names_of_ways import FIRST  # type: ignore[import-not-found]

        return [sys.prefix != sys.base_prefix, FIRST, run_id]

    @task.virtualenv(system_site_packages=False)
    def broken(found: list[Any]) -> None:
        raise LookupError(f"nothing beyond {found[1]}")

    broken(where())
