"""Every trigger rule, as the real services follow it."""

from pathlib import Path

import pytest

from headway.domain.dag.trigger_rules import TriggerRule
from headway.testing.services.stack import Stack

pytestmark = pytest.mark.services

EXPECTED = {
    # rule                           ok       bad              skip     one of each
    "all_success": ("success", "upstream_failed", "skipped", "upstream_failed"),
    "all_failed": ("skipped", "success", "skipped", "skipped"),
    "all_done": ("success", "success", "success", "success"),
    "all_done_min_one_success": ("success", "upstream_failed", "skipped", "success"),
    "all_done_setup_success": ("success", "success", "success", "success"),
    "all_skipped": ("skipped", "skipped", "success", "skipped"),
    "one_success": ("success", "upstream_failed", "skipped", "success"),
    "one_failed": ("skipped", "success", "skipped", "success"),
    "one_done": ("success", "success", "skipped", "success"),
    "none_failed": ("success", "upstream_failed", "success", "upstream_failed"),
    "none_failed_min_one_success": ("success", "upstream_failed", "skipped", "upstream_failed"),
    "none_skipped": ("success", "success", "skipped", "skipped"),
    "always": ("success", "success", "success", "success"),
}
"""What becomes of a task whose upstream task succeeds, fails, is skipped; and of all three."""


@pytest.fixture(scope="module")
def states(stack: Stack) -> dict[str, str]:
    return stack.run("every_rule").states()


def test_every_rule_is_covered() -> None:
    assert EXPECTED.keys() == set(TriggerRule)


@pytest.mark.parametrize("rule", EXPECTED)
def test_a_rule_decides_by_how_its_upstream_ended(states: dict[str, str], rule: str) -> None:
    found = tuple(states[f"{rule}.{end}"] for end in ("ok", "bad", "skip", "mixed"))

    assert found == EXPECTED[rule]


def test_some_rules_do_not_wait_for_every_upstream(stack: Stack, tmp_path: Path) -> None:
    """The slow task ends when all the others have run: it would time out were it waited for."""
    run = stack.run("early_rules", {"folder": str(tmp_path)})

    assert run.states()["slow"] == "success", run.states()
    assert {path.name for path in tmp_path.iterdir()} == {
        "one_success",
        "one_done",
        "one_failed",
        "always",
    }
