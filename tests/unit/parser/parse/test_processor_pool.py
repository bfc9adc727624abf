"""The fork server of a parser, as probes hear of it."""

from typing import Any

import pytest

from headway.runtime.forker import ForkerError
from headway.testing.time.clock import FakeClock
from headway_parser.parse.processor import Bounds
from headway_parser.parse.processor_pool import ASKED_AGAIN, ProcessorPool
from headway_parser.serving import warm_up_or_wait


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
    clock = FakeClock()
    parsing = ProcessorPool(start, none, Bounds(1, 1, 1), 1, clock)

    parsing.warm_up()
    assert parsing.check().ok
    assert parsing.free == 1

    found.pop().living = False
    with pytest.raises(ForkerError):
        parsing.warm_up()
    assert not parsing.check().ok
    assert parsing.check().check == "fork server"
    assert parsing.check().found == "is missing: nobody listens"
    assert (parsing.free, parsing.soon_free) == (0, False)

    found.append(Started())
    parsing.recover()
    assert not parsing.check().ok  # it was asked for a moment ago

    clock.advance(ASKED_AGAIN)
    parsing.recover()
    assert parsing.check().ok
    assert parsing.free == 1


def test_to_ask_for_a_fork_server_in_vain_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    def start() -> Any:
        raise ForkerError("nobody listens")

    none: Any = None
    clock = FakeClock()
    parsing = ProcessorPool(start, none, Bounds(1, 1, 1), 1, clock)
    with pytest.raises(ForkerError):
        parsing.warm_up()

    clock.advance(ASKED_AGAIN)
    parsing.recover()

    assert caplog.text.count("action=await_forker next_try=2.0 error=nobody listens") == 1


def test_a_fork_server_of_another_container_may_come_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def start() -> Any:
        raise ForkerError("nobody listens")

    none: Any = None
    parsing = ProcessorPool(start, none, Bounds(1, 1, 1), 1, FakeClock())

    warm_up_or_wait(parsing, elsewhere=True)
    assert "action=await_forker error=nobody listens" in caplog.text

    with pytest.raises(ForkerError):
        warm_up_or_wait(parsing, elsewhere=False)
