"""All services in one container, as a test looks at them: by the commands of a user."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.testing.containers.podman import ISOLATED, Container, Podman
from headway.testing.time.clock import PATIENCE, until


@dataclass(frozen=True, slots=True)
class Contained:
    """Services that run in a container."""

    container: Container

    def headway(self, *arguments: str, check: bool = True) -> str:
        """Run a `headway` command there; return what it prints."""
        return self.container.run("headway", *arguments, check=check).stdout

    def rows(self, *arguments: str, check: bool = True) -> list[dict[str, Any]]:
        """Return the rows that a command shows."""
        found: list[dict[str, Any]] = json.loads(
            self.headway(*arguments, "-o", "json", check=check) or "[]"
        )
        return found

    def outcome(self, dag_id: str, patience: float = PATIENCE) -> tuple[str, str]:
        """Run a DAG; return the id of the run and the state that it has ended in."""
        until(lambda: _is_known(self.rows("dags", "list"), dag_id), f"{dag_id} is parsed")
        self.headway("dags", "trigger", dag_id)

        def ended() -> dict[str, Any] | None:
            (run,) = self.rows("runs", "list", dag_id)
            return run if run["ended_at"] else None

        run = until(ended, f"the end of a run of {dag_id}", patience)
        return run["run_id"], run["state"]

    def log(self, dag_id: str, run_id: str, task_id: str) -> str:
        """Return the log of a task's last attempt."""
        return self.headway("tasks", "logs", dag_id, run_id, task_id)


@contextmanager
def standalone(
    podman: Podman, image: str, dags: Path, options: Sequence[str] = ISOLATED
) -> Iterator[Contained]:
    """Run `headway standalone` in a container, with the DAGs of a folder."""
    volume = f"--volume={dags}:/dags:ro"
    with podman.running([*options, volume], image, "standalone", "--dags", "/dags") as container:

        def is_up() -> bool:
            log = container.log()
            assert container.is_running(), log
            return "Ctrl-C stops everything" in log

        until(is_up, "standalone up")
        yield Contained(container)


def _is_known(rows: list[dict[str, Any]], dag_id: str) -> bool:
    return any(row["dag_id"] == dag_id for row in rows)
