"""Every rule against verdicts written by hand, and against Airflow's way of putting them.

Upstream tasks are letters: (s)uccess, (f)ailed, (u)pstream_failed, s(k)ipped,
(r)emoved, and a dot for one that is still to end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.trigger_rules import Tally, TriggerRule, Verdict, judge

W, R, S, U = Verdict.WAIT, Verdict.RUN, Verdict.SKIP, Verdict.UPSTREAM_FAILED
LETTER = {"W": W, "R": R, "S": S, "U": U}
Rule = TriggerRule


def tally(upstream: str) -> Tally:
    return Tally(
        total=len(upstream),
        success=upstream.count("s"),
        failed=upstream.count("f") + upstream.count("u"),
        upstream_failed=upstream.count("u"),
        skipped=upstream.count("k"),
        removed=upstream.count("r"),
    )


PAIRS = "                      ss sf su sk s. ff fu fk f. uu uk u. kk k. .."
TABLE = """
all_success                 R  U  U  S  W  U  U  U  U  U  U  U  S  W  W
all_failed                  S  S  S  S  S  R  R  S  W  R  S  W  S  S  W
all_done                    R  R  R  R  W  R  R  R  W  R  R  W  R  W  W
all_done_min_one_success    R  R  R  R  W  U  U  U  W  U  U  W  S  W  W
all_done_setup_success      R  R  R  R  W  R  R  R  W  R  R  W  R  W  W
all_skipped                 S  S  S  S  S  S  S  S  S  S  S  S  R  W  W
one_success                 R  R  R  R  R  U  U  U  W  U  U  W  S  W  W
one_failed                  S  R  R  S  W  R  R  R  R  R  R  R  S  W  W
one_done                    R  R  R  R  R  R  R  R  R  S  S  W  S  W  W
none_failed                 R  U  U  R  W  U  U  U  U  U  U  U  R  W  W
none_failed_min_one_success R  U  U  R  W  U  U  U  U  U  U  U  S  W  W
none_skipped                R  R  R  S  W  R  R  S  W  R  S  W  S  S  W
always                      R  R  R  R  R  R  R  R  R  R  R  R  R  R  R
"""
CASES = [
    (Rule(name), pair, LETTER[letter])
    for name, *letters in (line.split() for line in TABLE.strip().splitlines())
    for pair, letter in zip(PAIRS.split(), letters, strict=True)
]


@pytest.mark.parametrize(("rule", "upstream", "verdict"), CASES)
def test_two_upstream_tasks(rule: TriggerRule, upstream: str, verdict: Verdict) -> None:
    assert judge(rule, tally(upstream)) is verdict


def test_the_table_has_every_rule() -> None:
    assert {rule for rule, _, _ in CASES} == set(Rule)


@dataclass(frozen=True)
class Airflow:
    """A rule as Airflow evaluates it: first what ends the task unrun, then what lets it run."""

    skipped: Callable[[str], bool] = lambda _: False
    upstream_failed: Callable[[str], bool] = lambda _: False
    passes: Callable[[str], bool] = lambda _: True

    def verdict(self, upstream: str) -> Verdict:
        if self.skipped(upstream):
            return S
        if self.upstream_failed(upstream):
            return U
        return R if self.passes(upstream) else W


def over(upstream: str) -> bool:
    return "." not in upstream


def bad(upstream: str) -> bool:
    return "f" in upstream or "u" in upstream


AIRFLOW = {
    Rule.ALL_SUCCESS: Airflow(
        # Airflow does not wait for the others, so that a failure may come too late to count.
        skipped=lambda up: over(up) and "k" in up and not bad(up),
        upstream_failed=bad,
        passes=lambda up: set(up) == {"s"},
    ),
    Rule.ALL_FAILED: Airflow(
        skipped=lambda up: "s" in up or "k" in up,
        passes=lambda up: set(up) <= set("fu"),
    ),
    Rule.ALL_DONE: Airflow(passes=over),
    Rule.ALL_DONE_MIN_ONE_SUCCESS: Airflow(
        skipped=lambda up: set(up) == {"k"},
        upstream_failed=lambda up: over(up) and "s" not in up,
        passes=over,
    ),
    Rule.ALL_DONE_SETUP_SUCCESS: Airflow(passes=over),
    Rule.ALL_SKIPPED: Airflow(
        skipped=lambda up: "s" in up or bad(up),
        passes=lambda up: set(up) == {"k"},
    ),
    Rule.ONE_SUCCESS: Airflow(
        skipped=lambda up: set(up) == {"k"},
        upstream_failed=lambda up: over(up) and "s" not in up,
        passes=lambda up: "s" in up,
    ),
    Rule.ONE_FAILED: Airflow(skipped=lambda up: over(up) and not bad(up), passes=bad),
    Rule.ONE_DONE: Airflow(
        skipped=lambda up: over(up) and "s" not in up and "f" not in up,
        passes=lambda up: "s" in up or "f" in up,
    ),
    Rule.NONE_FAILED: Airflow(upstream_failed=bad, passes=lambda up: set(up) <= set("sk")),
    Rule.NONE_FAILED_MIN_ONE_SUCCESS: Airflow(
        skipped=lambda up: set(up) == {"k"},
        upstream_failed=bad,
        passes=lambda up: set(up) <= set("sk"),
    ),
    Rule.NONE_SKIPPED: Airflow(skipped=lambda up: "k" in up, passes=over),
    Rule.ALWAYS: Airflow(),
}
UP_TO_FIVE = [
    "".join(upstream)
    for count in range(1, 6)
    for upstream in combinations_with_replacement("sfuk.", count)
]


@pytest.mark.parametrize("rule", Rule)
def test_up_to_five_upstream_tasks_as_in_airflow(rule: TriggerRule) -> None:
    for upstream in UP_TO_FIVE:
        assert judge(rule, tally(upstream)) is AIRFLOW[rule].verdict(upstream), upstream


@pytest.mark.parametrize("rule", Rule)
def test_a_task_without_upstream_tasks_runs(rule: TriggerRule) -> None:
    assert judge(rule, Tally(total=0)) is R


@pytest.mark.parametrize("rule", Rule)
def test_removed_tasks_no_longer_matter(rule: TriggerRule) -> None:
    for upstream, removed in product(["", *UP_TO_FIVE], ["r", "rr"]):
        with_removed, without = tally(upstream + removed), tally(upstream)
        assert judge(rule, with_removed) is judge(rule, without), upstream


SETUPS = """
ss R
sf R
su R
sk R
s. W
ff U
fu U
fk U
f. W
uu U
uk U
u. W
kk S
k. W
.. W
"""


@pytest.mark.parametrize("other", ["", "s", "f", "u", "k", "r"])
@pytest.mark.parametrize("case", SETUPS.strip().splitlines())
def test_a_teardown_runs_when_one_of_its_setups_did(case: str, other: str) -> None:
    setups, letter = case.split()
    counted = replace(
        tally(setups + other),
        setups=2,
        setups_succeeded=setups.count("s"),
        setups_skipped=setups.count("k"),
    )

    assert judge(Rule.ALL_DONE_SETUP_SUCCESS, counted) is LETTER[letter]


def test_a_teardown_waits_for_the_work_between() -> None:
    assert judge(Rule.ALL_DONE_SETUP_SUCCESS, replace(tally("s."), setups=1)) is W


RULES = st.sampled_from(TriggerRule)
UPSTREAM = st.text("sfukr.", max_size=12)


@given(RULES, UPSTREAM, st.sampled_from("sfukr"))
def test_one_more_end_never_makes_a_decided_task_wait(
    rule: TriggerRule, upstream: str, end: str
) -> None:
    if judge(rule, tally(upstream)) is not W:
        assert judge(rule, tally(upstream + end)) is not W
        assert judge(rule, tally(upstream.replace(".", end, 1))) is not W


@given(RULES, st.text("sfukr", max_size=12))
def test_nothing_waits_when_all_has_ended(rule: TriggerRule, upstream: str) -> None:
    assert judge(rule, tally(upstream)) is not W


@given(UPSTREAM)
def test_what_is_done(upstream: str) -> None:
    counted = tally(upstream)

    assert counted.done == len(upstream) - upstream.count(".")
    assert counted.all_done is ("." not in upstream)


ENDS = st.lists(
    st.sampled_from(["success", "failed", "upstream_failed", "skipped", "removed"]), max_size=5
)


@given(rule=st.sampled_from(TriggerRule), ends=ENDS)
def test_the_order_in_which_upstream_tasks_end_does_not_matter(
    rule: TriggerRule, ends: list[str]
) -> None:
    def first_verdict(order: Sequence[str]) -> Verdict:
        for ended in range(len(order) + 1):
            so_far = order[:ended]
            failed = so_far.count("failed") + so_far.count("upstream_failed")
            tally = Tally(
                total=len(order),
                success=so_far.count("success"),
                failed=failed,
                upstream_failed=so_far.count("upstream_failed"),
                skipped=so_far.count("skipped"),
                removed=so_far.count("removed"),
            )
            verdict = judge(rule, tally)
            if verdict is not Verdict.WAIT:
                return verdict
        return Verdict.WAIT

    verdicts = {first_verdict(order) for order in permutations(ends)}

    assert len(verdicts) == 1
    assert verdicts != {Verdict.WAIT}
