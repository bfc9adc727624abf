"""What chaos says of a fault: the alert that it raises, or why it needs no person."""

from collections import Counter
from random import Random
from unittest.mock import MagicMock

import pytest
import yaml
from tests.chaos import faults
from tests.chaos.__main__ import STALLS
from tests.chaos.alerts import MANY, NEEDS_NO_PERSON, RAISES, at_once, violations
from tests.chaos.fault_series import Timer

from headway.testing.metrics.alerts import RULES
from headway.testing.time.clock import FakeClock

NAMES = {rule["alert"] for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]}


def test_each_kind_of_fault_raises_an_alert_or_needs_no_person() -> None:
    timer, chance = Timer(FakeClock()), Random(1)
    kinds = [
        *faults.of_workers(MagicMock(), timer, chance, STALLS),
        *faults.of_others(MagicMock(), timer, chance, FakeClock(), 600.0),
    ]

    assert {name for name, _ in kinds} == RAISES.keys() | NEEDS_NO_PERSON.keys()
    assert not RAISES.keys() & NEEDS_NO_PERSON.keys()
    assert set(RAISES.values()) <= NAMES


def test_no_alert_waits() -> None:
    rules = yaml.safe_load(at_once(RULES.read_text()))["groups"][0]["rules"]

    assert {rule["for"] for rule in rules} == {"0s"}


@pytest.mark.parametrize(
    ("kind", "lost", "late", "fired", "found"),
    [
        ("shift a clock", 0, 0, set(), 1),
        ("shift a clock", 0, 0, {"HeadwayClockOff"}, 0),
        ("kill worker", MANY, 0, set(), 1),
        ("kill worker", MANY - 1, 0, set(), 0),
        ("kill scheduler", MANY, 0, set(), 0),
        ("kill scheduler", 0, 1, set(), 1),
        ("kill scheduler", 0, 1, {"HeadwayDeadlinesMissed"}, 0),
        ("something else", 0, 0, set(), 1),
    ],
)
def test_an_alert_that_is_due_and_has_not_fired_is_a_violation(
    kind: str, lost: int, late: int, fired: set[str], found: int
) -> None:
    assert len([*violations(Counter({kind: 1}), lost, late, fired)]) == found
