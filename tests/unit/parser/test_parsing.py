"""The fork server of a parser, as probes hear of it."""

from typing import Any

import pytest

from headway.runtime.forker import ForkerError
from headway.testing.clock import FakeClock
from headway_parser.parsing import Parsing
from headway_parser.processor import Bounds
from headway_parser.serving import begin


class Started:
    """A fork server that lives until it is told not to."""

    living = True
    isolation = None

    def alive(self) -> bool:
        return self.living

    def close(self) -> None:
        pass


def test_probes_hear_whether_the_last_file_had_a_fork_server() -> None:
    found: list[Any] = [Started()]

    def start() -> Any:
        if not found:
            raise ForkerError("nobody listens")
        return found[0]

    none: Any = None
    parsing = Parsing(start, none, Bounds(1, 1, 1), 1, FakeClock())

    parsing.warm_up()
    assert parsing.check().ok

    found.pop().living = False
    with pytest.raises(ForkerError):
        parsing.warm_up()
    assert not parsing.check().ok
    assert parsing.check().check == "fork server"

    with pytest.raises(ForkerError):
        parsing.recover()

    found.append(Started())
    parsing.recover()
    assert parsing.check().ok


def test_a_fork_server_of_another_container_may_come_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def start() -> Any:
        raise ForkerError("nobody listens")

    none: Any = None
    parsing = Parsing(start, none, Bounds(1, 1, 1), 1, FakeClock())

    begin(parsing, elsewhere=True)
    assert "action=await_forker error=nobody listens" in caplog.text

    with pytest.raises(ForkerError):
        begin(parsing, elsewhere=False)
