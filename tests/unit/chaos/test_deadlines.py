"""What chaos finds wrong with how missed deadlines were told."""

import pytest
from tests.chaos.deadlines import Deadline, Sent, Telling, violations
from tests.chaos.receiver import Post

ONE: Deadline = ("late", "run 1", "0:00:01 after due")
OTHER: Deadline = ("late", "run 2", "0:00:01 after due")
GOOD = {"a": Sent("success", 1)}


@pytest.mark.parametrize(
    ("missed", "sent", "posts"),
    [
        ([ONE], GOOD, [Post("a", (ONE,))]),
        ([ONE, OTHER], GOOD, [Post("a", (ONE, OTHER))]),
        ([ONE], {"a": Sent("success", 2)}, [Post("a", (ONE,))]),
        ([ONE], {"a": Sent("success", 2)}, [Post("a", (ONE,))] * 2),
    ],
    ids=["once", "together", "a try that did not arrive", "an acknowledgement that was lost"],
)
def test_what_is_right_is_no_violation(
    missed: list[Deadline], sent: dict[str, Sent], posts: list[Post]
) -> None:
    assert [*violations(Telling(missed, sent), posts)] == []


@pytest.mark.parametrize(
    ("missed", "sent", "posts", "found"),
    [
        ([], {}, [], "no deadline was missed"),
        ([ONE], {}, [], "under 0 ids"),
        ([ONE, ONE], GOOD, [Post("a", (ONE,))], "missed 2 times"),
        ([ONE], {**GOOD, "b": GOOD["a"]}, [Post("a", (ONE,)), Post("b", (ONE,))], "under 2 ids"),
        ([ONE], GOOD, [Post("a", (ONE, OTHER))], "missed 0 times"),
        ([ONE], {"a": Sent("failed", 1, "x")}, [Post("a", (ONE,))], "is failed after 1 tries: x"),
        ([ONE], GOOD, [Post("a", (ONE,))] * 2, "came 2 times in 1 tries"),
        ([ONE], {}, [Post("a", (ONE,))], "is not in the database"),
    ],
)
def test_what_is_wrong_is_one_violation(
    missed: list[Deadline], sent: dict[str, Sent], posts: list[Post], found: str
) -> None:
    [violation] = violations(Telling(missed, sent), posts)

    assert found in violation
