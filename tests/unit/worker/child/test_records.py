"""A task's own logging is led to its log, whatever the fork server has imported."""

import logging

import pytest

from headway_worker.child.records import Records, send_records

ROOT = logging.root


def test_what_is_so_already_is_left_as_it_is() -> None:
    send_records()
    before = list(ROOT.handlers)

    send_records()

    assert ROOT.handlers == before


@pytest.mark.parametrize(
    "meddle",
    [
        lambda: ROOT.setLevel(logging.WARNING),
        lambda: ROOT.addHandler(logging.StreamHandler()),
        lambda: logging.getLogger("py4j").setLevel(logging.DEBUG),
    ],
)
def test_what_another_module_has_set_meanwhile_is_undone(meddle: object) -> None:
    send_records()
    assert callable(meddle)
    meddle()

    send_records()

    assert [type(handler) for handler in ROOT.handlers] == [Records]
    assert ROOT.level == logging.INFO
    assert logging.getLogger("py4j").level == logging.WARNING
