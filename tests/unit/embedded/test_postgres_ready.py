import pytest

from headway.embedded.postgres import is_ready

PID, LAUNCHED = 7344, 1_795_245_363


def pid_file(pid: int = PID, started: int = LAUNCHED, status: str = "ready   ") -> str:
    return f"{pid}\n/data\n{started}\n5999\n\n127.0.0.1\n 16039978 9\n{status}\n"


def test_a_server_is_ready_when_it_says_so() -> None:
    assert is_ready(pid_file(), PID, LAUNCHED)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no file yet"),
        pytest.param(f"{PID}\n/data\n{LAUNCHED}\n5999\n", id="file begun"),
        pytest.param(pid_file(status="starting"), id="still starting"),
        pytest.param(pid_file(pid=PID + 1), id="left by a server with another pid"),
        pytest.param(pid_file(started=LAUNCHED - 9), id="left by a server with the same pid"),
    ],
)
def test_it_is_not_ready_before(text: str) -> None:
    assert not is_ready(text, PID, LAUNCHED)
