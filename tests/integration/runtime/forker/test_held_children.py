"""Services that are started before there is anything for them to do."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Prefork, Service, ServiceOrder
from headway.runtime.processes.services import ServiceGroup, ServiceProgram
from headway.runtime.settings import configuration
from headway.testing.time.clock import until

SERVICE = """
import sys
from pathlib import Path
from headway.runtime.daemon import service
from headway.runtime.settings import configuration

def main():
    print("ready", flush=True)
    service.await_gate(configuration.environment())
    print("began when it", "was" if Path(sys.argv[1]).exists() else "was not", "time", flush=True)
"""


@pytest.fixture
def children(tmp_path: Path) -> Iterator[ServiceGroup]:
    (tmp_path / "held_service.py").write_text(SERVICE)
    environment = {**configuration.environment(), "PYTHONPATH": str(tmp_path)}

    def launch(program: ServiceProgram, output: int, gate: int | None) -> Service:
        order = ServiceOrder("held_service:main", program.command, program.environment)
        return prefork.fork(order, output, gate)

    with Prefork((), environment) as prefork:
        children = ServiceGroup(launch, tmp_path / "services", SystemClock())
        yield children
        children.stop(10)


def start(children: ServiceGroup, name: str, time_has_come: Path) -> None:
    children.start(ServiceProgram(name, [str(time_has_come)], configuration.environment()))


def printed(children: ServiceGroup, name: str, words: str) -> bool:
    return words in children.log(name).read_text()


def test_they_begin_together_when_they_are_let_go(children: ServiceGroup, tmp_path: Path) -> None:
    time_has_come = tmp_path / "time"
    with children.held():
        for name in ("one", "two"):
            start(children, name, time_has_come)
        for name in ("one", "two"):
            until(lambda: printed(children, name, "ready"), f"{name} ready")  # noqa: B023
        time_has_come.touch()

    for name in ("one", "two"):
        until(lambda: printed(children, name, "began"), f"{name} beginning")  # noqa: B023
        assert printed(children, name, "began when it was time")


def test_they_are_let_go_when_what_they_wait_for_fails(
    children: ServiceGroup, tmp_path: Path
) -> None:
    with suppress(ZeroDivisionError), children.held():
        start(children, "one", tmp_path)
        raise ZeroDivisionError

    until(lambda: printed(children, "one", "began"), "its beginning")


def test_one_that_is_started_later_waits_for_nothing(
    children: ServiceGroup, tmp_path: Path
) -> None:
    with children.held():
        pass
    start(children, "one", tmp_path)

    until(lambda: printed(children, "one", "began"), "its beginning")
