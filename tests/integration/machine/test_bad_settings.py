"""Settings that cannot be: refused before anything starts, by a message that names them."""

from pathlib import Path

import pytest

from headway.testing.services.machine import Machine

pytestmark = pytest.mark.services

UNUSED = "postgresql://me@127.0.0.1:9/x"
PREFORK = "headway.runtime.forker services"
CONTRADICTION = "[worker] lease_duration must be at least three times heartbeat_interval"


CONTENTS = [
    ("[worker]\nslots = 'many'", "HEADWAY_WORKER_SLOTS: Input should be a valid integer"),
    ("[worker]\nlease_duration = 7", CONTRADICTION),
    ("[worker]\nslotz = 3", "slotz in [worker] is no setting of Headway; did you mean slots?"),
    ("worker = 3", "worker must be a section of the TOML file"),
    ("[worker", "headway.toml is not valid TOML"),
]
"""Files that make no sense, and what is said of them; unit tests have more of them."""

_DIFFERENT = {
    (CONTENTS[0][0], "worker"),
    (CONTENTS[1][0], "standalone"),
    (CONTENTS[4][0], "worker"),
}
"""A value, values that contradict each other, and no TOML at all."""


@pytest.mark.parametrize(
    ("name", "value", "command"),
    [
        pytest.param("HEADWAY_PARSER_PARSING_PROCESSES", "0", "parser", marks=pytest.mark.long),
        pytest.param(
            "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL", "soon", "scheduler", marks=pytest.mark.long
        ),
        ("HEADWAY_WORKER_SLOTS", "many", "worker"),
        pytest.param("HEADWAY_WORKER_SLOTS", "many", "standalone", marks=pytest.mark.long),
        ("HEADWAY_PARSER_PARSING_PROCESSES", "0", "standalone"),
        ("HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL", "soon", "demo"),
    ],
)
def test_a_variable_that_makes_no_sense(
    machine: Machine, dags: Path, name: str, value: str, command: str
) -> None:
    said = machine.refusal(command, given={name: value, "HEADWAY_DATABASE_URL": UNUSED})

    assert said.startswith(f"{name}: ")
    assert f"(given: {value!r})" in said
    assert not list(machine.root.rglob("postgres"))


@pytest.mark.parametrize("command", ["worker", "standalone"])
def test_variables_that_contradict_each_other(machine: Machine, dags: Path, command: str) -> None:
    given = {"HEADWAY_WORKER_LEASE_DURATION": "7", "HEADWAY_DATABASE_URL": UNUSED}

    assert CONTRADICTION in machine.refusal(command, given=given)


def test_variables_that_contradict_the_defaults_of_one_machine(
    machine: Machine, dags: Path
) -> None:
    said = machine.refusal("standalone", given={"HEADWAY_WORKER_KILL_GRACE": "13"})

    assert CONTRADICTION in said
    assert "(19 s)" in said


@pytest.mark.parametrize(
    ("content", "message", "command"),
    [
        pytest.param(
            *each, command, marks=() if (each[0], command) in _DIFFERENT else pytest.mark.long
        )
        for each in CONTENTS
        for command in ("worker", "standalone")
    ],
)
def test_a_file_that_makes_no_sense(
    machine: Machine, dags: Path, content: str, message: str, command: str
) -> None:
    machine.home.mkdir()
    (machine.home / "headway.toml").write_text(content)

    said = machine.refusal(command, given={"HEADWAY_DATABASE_URL": UNUSED})

    assert message in said
    assert [path.name for path in machine.home.iterdir()] == ["headway.toml"]


def test_a_file_that_was_named_and_is_not_there(machine: Machine) -> None:
    said = machine.refusal("settings", given={"HEADWAY_CONFIG": "/nowhere/headway.toml"})

    assert said == "HEADWAY_CONFIG names /nowhere/headway.toml, which is no file."


def test_the_file_wins_over_the_defaults_of_one_machine(machine: Machine, dags: Path) -> None:
    """`standalone` hands its own defaults to the services, but not over what a user has set."""
    machine.home.mkdir()
    (machine.home / "headway.toml").write_text("[worker]\nlease_duration = 60\nslots = 3\n")

    with machine.standalone(dags) as (_standalone, _engine):
        prefork = next(pid for pid, line in machine.processes().items() if PREFORK in line)
        variables = Path(f"/proc/{prefork}/environ").read_bytes().decode().split("\0")

        assert "HEADWAY_WORKER_DRAIN_GRACE=0" in variables
        assert not any(each.startswith("HEADWAY_WORKER_LEASE_DURATION=") for each in variables)
