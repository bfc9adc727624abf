"""A real Prometheus, as Debian has it, that scrapes services of a test and applies rules."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import urlopen

from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.metrics.scraping import free_port
from headway.testing.processes.required import required_program
from headway.testing.time.clock import until

_CONFIG: Final = """
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: headway
    static_configs:
"""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus that runs."""

    port: int

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of its API."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(parameters)}"
        with urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]

    def values(self, query: str) -> list[float]:
        """Return the values of a query now."""
        found = self.ask("query", query=query)
        series = [found] if found["resultType"] == "scalar" else found["result"]
        return [float(sample["value"][1]) for sample in series]

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        alerts = self.ask("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def scraped(self) -> int:
        """Return how many targets it has reached."""
        return sum(target["health"] == "up" for target in self.ask("targets")["activeTargets"])


@contextmanager
def prometheus(
    folder: Path,
    targets: Mapping[str, int],
    rules: str,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Prometheus]:
    """Run one that scrapes these ports of this machine; each is an instance of that name.

    Until it has reached all of them, `meanwhile` is called again and again.
    """

    def has_reached() -> bool:
        meanwhile()
        return _has_reached(running, len(targets))

    program = required_program("prometheus", "prometheus")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.yaml").write_text(rules)
    (folder / "prometheus.yml").write_text(_CONFIG + _scraped(targets))
    running = Prometheus(free_port())
    arguments = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{running.port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            dies_with_parent([program, *arguments]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        until(has_reached, "a Prometheus that scrapes")
        yield running
    finally:
        process.terminate()
        process.wait(60)


def _scraped(targets: Mapping[str, int]) -> str:
    return "".join(
        f"      - {{targets: ['127.0.0.1:{port}'], labels: {{instance: {name}}}}}\n"
        for name, port in targets.items()
    )


def _has_reached(running: Prometheus, number: int) -> bool:
    try:
        return running.scraped() == number
    except OSError:
        return False
