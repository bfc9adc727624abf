import pytest

from headway.runtime.forker import ForkerError
from headway_parser.serving import look_early


class Looks:
    """Looks that all end in one error."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.count = 0

    def look(self) -> None:
        self.count += 1
        raise self._error


def test_a_first_look_that_fails_for_now_is_left_to_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks = Looks(ForkerError("starting anew"))

    look_early(looks.look)

    assert looks.count == 1
    assert "starting anew" in caplog.text


def test_a_first_look_that_fails_for_good_ends_the_parser() -> None:
    with pytest.raises(ValueError, match="bug"):
        look_early(Looks(ValueError("bug")).look)
