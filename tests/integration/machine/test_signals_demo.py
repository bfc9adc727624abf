"""Ctrl-C and SIGTERM at any moment of `headway demo`: it ends soon, and with it all it started."""

import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.testing.services.machine import Command, Machine

pytestmark = [pytest.mark.services, pytest.mark.spark]

INTERRUPTED = 130
GONE_WITHIN = 5.0
"""Seconds after the launcher's own end; it waits for its services, so none should be needed."""


def is_pythons_own(status: int, complaint: str) -> bool:
    """Tell whether Python ended by SIGINT, with status 1, before it ran anything of Headway."""
    return (
        status == 1
        and complaint.rstrip(" \n:").endswith("KeyboardInterrupt")
        and "headway" not in complaint.partition("Traceback")[2].replace(sys.prefix, "")
    )


@dataclass(frozen=True)
class Scene:
    """A demo that is running, looked at from outside."""

    machine: Machine
    command: Command

    @property
    def home(self) -> Path:
        return self.machine.home / "demo"


def has_begun(scene: Scene) -> bool:
    return "Starting Postgres" in scene.command.printed()


def postgres_is_up(scene: Scene) -> bool:
    status = scene.home / "postgres" / "data" / "postmaster.pid"
    return status.is_file() and status.read_text().rstrip().endswith("ready")


def spark_is_starting(scene: Scene) -> bool:
    return any("SparkConnectServer" in line for line in scene.machine.processes().values())


def spark_tasks_succeed(scene: Scene) -> bool:
    return re.search(r"succeeded: [1-9]", scene.command.printed()) is not None


# One home for all: each demo starts in what an interrupted one has left.
@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine.new(tmp_path_factory.mktemp("interrupted"))


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (has_begun, signal.SIGINT),
        pytest.param(postgres_is_up, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(postgres_is_up, signal.SIGINT, marks=pytest.mark.long),
        pytest.param(spark_is_starting, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(spark_is_starting, signal.SIGINT, marks=pytest.mark.long),
        pytest.param(spark_tasks_succeed, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(spark_tasks_succeed, signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_it_ends_in_good_order(
    machine: Machine, moment: Callable[[Scene], bool], number: signal.Signals
) -> None:
    with machine.running("demo") as command:
        scene = Scene(machine, command)
        command.until(lambda: moment(scene), moment.__name__)

        assert command.end(number) == INTERRUPTED

    machine.wait_until_idle(GONE_WITHIN)
    assert command.printed().endswith("Stopped before the end; nothing is left running.\n")
    assert command.complained() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_has_hardly_been_born(machine: Machine, number: signal.Signals) -> None:
    """Before it can listen to signals it ends by them, and has started nothing."""
    with machine.running("demo") as command:
        command.until(machine.processes, "the process there")

        ended = command.end(number)

    machine.wait_until_idle(GONE_WITHIN)
    assert ended in (INTERRUPTED, -number) or is_pythons_own(ended, command.complained())


@pytest.mark.long
def test_further_signals_change_nothing(machine: Machine) -> None:
    with machine.running("demo") as command:
        command.until(lambda: "Backfilling" in command.printed(), "the services up")
        for _ in range(5):
            command.process.send_signal(signal.SIGINT)

        assert command.end(signal.SIGTERM) == INTERRUPTED

    machine.wait_until_idle(GONE_WITHIN)
    assert command.complained() == ""
