from math import inf

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.deadline import Deadline


def test_a_deadline_is_what_was_written_last() -> None:
    deadline = Deadline.new(5.0)
    other = Deadline(deadline.fileno())  # as a nanny has it
    assert other.moment() == 5.0

    for moment in (7.25, 6.0, inf):
        deadline.move(moment)
        assert other.moment() == moment
    deadline.close()


def test_a_deadline_has_passed_when_its_moment_has_come() -> None:
    now = SystemClock().monotonic()
    deadline = Deadline.new(now)
    assert deadline.has_passed()

    deadline.move(now + 1000)
    assert not deadline.has_passed()
    deadline.close()
