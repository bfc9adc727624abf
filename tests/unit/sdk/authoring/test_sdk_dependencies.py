"""`>>`, `<<`, lists, chain, cross_downstream, setups and teardowns, cycles."""

import pytest

from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    BaseOperator,
    EmptyOperator,
    chain,
    cross_downstream,
    setup,
    task,
    teardown,
)
from headway.sdk.authoring import current
from headway.sdk.harness.specification import to_spec


def empty(names: str) -> list[BaseOperator]:
    return [EmptyOperator(task_id=name) for name in names]


def edges(dag: DAG) -> set[str]:
    spec = to_spec(dag, "x.py")
    return {f"{upstream}{task.task_id}" for task in spec.tasks for upstream in task.upstream}


def test_shifts_chain_and_fan_out_and_in(dag: DAG) -> None:
    a, b, c, d = empty("abcd")

    assert a >> [b, c] >> d is d

    assert edges(dag) == {"ab", "ac", "bd", "cd"}


def test_left_shifts_turn_the_arrow(dag: DAG) -> None:
    a, b, c, d = empty("abcd")

    d << [b, c] << a

    assert edges(dag) == {"ab", "ac", "bd", "cd"}


def test_methods_do_the_same(dag: DAG) -> None:
    a, b, c = empty("abc")

    a.set_downstream(b)
    c.set_upstream([a, b])

    assert edges(dag) == {"ab", "ac", "bc"}


def test_chain_pairs_lists_of_the_same_length(dag: DAG) -> None:
    a, b, c, d, e, f = empty("abcdef")

    chain(a, [b, c], [d, e], f)

    assert edges(dag) == {"ab", "ac", "bd", "ce", "df", "ef"}
    with pytest.raises(DagError, match="a list of 2 tasks to one of 3; make them equally long"):
        chain([a, b], [c, d, e])


def test_cross_downstream_links_each_to_each(dag: DAG) -> None:
    a, b, c, d = empty("abcd")

    cross_downstream([a, b], [c, d])

    assert edges(dag) == {"ac", "ad", "bc", "bd"}


def test_tasks_are_in_topological_order_whatever_their_order_in_the_file(dag: DAG) -> None:
    a, b, c = empty("abc")
    c >> b >> a

    assert [task.task_id for task in to_spec(dag, "x.py").tasks] == ["c", "b", "a"]


def test_a_cycle_is_shown(dag: DAG) -> None:
    a, b, c = empty("abc")
    a >> b >> c >> a

    with pytest.raises(
        DagError, match=r"DAG 'flights' has a cycle: (a -> b -> c -> a|b -> c -> a)"
    ):
        to_spec(dag, "x.py")


def test_a_task_that_waits_for_itself_is_a_cycle(dag: DAG) -> None:
    (a,) = empty("a")
    a >> a

    with pytest.raises(DagError, match="cycle: a -> a"):
        to_spec(dag, "x.py")


def test_tasks_of_two_dags_cannot_wait_for_each_other() -> None:
    with DAG("one"):
        (a,) = empty("a")
    with DAG("two"):
        (b,) = empty("b")

    with pytest.raises(DagError, match="'a' and 'b' are in two DAGs"):
        a >> b


def test_a_task_without_dag_joins_the_other_one(dag: DAG) -> None:
    (a,) = empty("a")
    current.leave()
    loose = EmptyOperator(task_id="loose")
    current.enter(dag.task_group)

    a >> loose

    assert dag.get_task("loose") is loose


def test_two_tasks_without_dag_cannot_be_linked() -> None:
    a, b = empty("ab")

    with pytest.raises(DagError, match="'a' and 'b' are in no DAG; make them inside `with DAG"):
        a >> b


def test_what_is_no_task_is_refused(dag: DAG) -> None:
    (a,) = empty("a")

    with pytest.raises(DagError, match="must be a task or a list of tasks, not 'b'"):
        a >> "b"  # type: ignore[type-var]


def test_an_unknown_task_is_named(dag: DAG) -> None:
    empty("ab")

    with pytest.raises(DagError, match="DAG 'flights' has no task 'c'; its tasks: a, b"):
        dag.get_task("c")


def test_descendants_are_found_at_any_distance(dag: DAG) -> None:
    a, b, c, d = empty("abcd")
    a >> b >> c
    d >> c

    assert dag.descendants("a") == {"b", "c"}


def test_setup_and_teardown(dag: DAG) -> None:
    start, work, stop = empty("swt")

    start >> work >> stop.as_teardown(setups=start)

    assert start.spec.is_setup
    assert stop.spec.is_teardown
    assert stop.spec.trigger_rule is TriggerRule.ALL_DONE_SETUP_SUCCESS
    assert edges(dag) == {"sw", "wt", "st"}


def test_setup_and_teardown_decorators(dag: DAG) -> None:
    @setup
    def start() -> None: ...

    @teardown
    @task(retries=4)
    def stop() -> None: ...

    start() >> stop()

    tasks = {task.task_id: task for task in to_spec(dag, "x.py").tasks}
    assert (tasks["start"].is_setup, tasks["stop"].is_teardown) == (True, True)
    assert (tasks["stop"].retries, tasks["stop"].upstream) == (4, ("start",))


def test_a_teardown_says_whether_it_counts_for_the_run(dag: DAG) -> None:
    @teardown(on_failure_fail_dagrun=True)
    def strict() -> None: ...

    @teardown
    def lenient() -> None: ...

    (by_method,) = empty("m")
    strict(), lenient(), by_method.as_teardown(on_failure_fail_dagrun=True)

    counting = {task.task_id: task.on_failure_fail_dagrun for task in dag.tasks}
    assert counting == {"strict": True, "lenient": False, "m": True}
    with pytest.raises(DagError, match="'m': on_failure_fail_dagrun must be True or False"):
        by_method.as_teardown(on_failure_fail_dagrun=1)  # type: ignore[arg-type]


def test_tasks_of_a_block_lie_between_setup_and_teardown(dag: DAG) -> None:
    s, t = empty("st")
    x, y = empty("xy")
    x >> y

    with t.as_teardown(setups=s):
        a, b, c = empty("abc")
        [a, b] >> c
        x >> a
    a >> y

    assert edges(dag) == {"st", "xy", "sa", "sb", "ac", "bc", "ct", "xa", "ay"}


def test_a_block_may_be_that_of_a_setup_or_of_an_output(dag: DAG) -> None:
    @setup
    def up() -> str:
        return "cluster"

    @teardown
    def down(cluster: str) -> None: ...

    opened = up()
    down(opened)
    with opened:
        empty("a")
    with down(opened):
        empty("b")

    assert dag.task_dict["a"].upstream_task_ids == {"up"}
    assert dag.task_dict["a"].downstream_task_ids == {"down"}
    assert dag.task_dict["b"].upstream_task_ids == {"up"}
    assert dag.task_dict["b"].downstream_task_ids == {"down__1"}


def test_a_block_takes_in_tasks_that_were_made_before(dag: DAG) -> None:
    s, t, a, b = empty("stab")

    with t.as_teardown(setups=s) as scope:
        scope.add_task(a)

    assert edges(dag) == {"st", "sa", "at"}
    assert not b.upstream_task_ids


def test_blocks_nest(dag: DAG) -> None:
    s, t, u, v = empty("stuv")

    with t.as_teardown(setups=s):
        (a,) = empty("a")
        with v.as_teardown(setups=u):
            (b,) = empty("b")
        a >> b

    assert edges(dag) == {"st", "uv", "ub", "bv", "sa", "ab", "su", "vt"}


def test_a_block_that_fails_connects_nothing(dag: DAG) -> None:
    s, t = empty("st")

    with pytest.raises(DagError, match="two tasks with the id 'a'"), t.as_teardown(setups=s):
        empty("aa")
    empty("b")

    assert edges(dag) == {"st"}


def test_a_block_takes_no_task_of_another_dag(dag: DAG) -> None:
    s, t = empty("st")

    with t.as_teardown(setups=s), DAG("other"):
        (a,) = empty("a")

    assert not a.upstream_task_ids
    assert edges(dag) == {"st"}


def test_only_setups_and_teardowns_have_blocks(dag: DAG) -> None:
    (a,) = empty("a")

    with pytest.raises(DagError, match=r"task 'a': `with` takes a setup or a teardown"), a:
        pass
