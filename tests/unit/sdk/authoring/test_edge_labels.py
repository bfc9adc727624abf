"""Labels on edges, and chain_linear."""

from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    BaseOperator,
    EmptyOperator,
    Label,
    TaskGroup,
    chain,
    chain_linear,
    task,
)
from headway.sdk.harness.specification import to_spec


def empty(names: str) -> list[BaseOperator]:
    return [EmptyOperator(task_id=name) for name in names]


def labels(dag: DAG) -> dict[str, str]:
    """The texts on all edges, empty where there is none."""
    spec = to_spec(dag, "x.py")
    said = {(each.upstream, each.downstream): each.label for each in spec.labels}
    return {
        f"{above}-{each.task_id}": said.get((above, each.task_id), "")
        for each in spec.tasks
        for above in each.upstream
    }


def test_a_label_stands_on_the_edge_between_two_tasks(dag: DAG) -> None:
    a, b, c, d, e = empty("abcde")

    a >> Label("yes") >> b >> c
    e << Label("no") << d
    e.set_upstream(c, edge_modifier=Label("up"))
    e.set_downstream([], edge_modifier=Label("none"))
    b.set_downstream(d, edge_modifier=Label("down"))

    assert labels(dag) == {"a-b": "yes", "b-c": "", "d-e": "no", "c-e": "up", "b-d": "down"}


def test_a_label_stands_between_lists_and_outputs(dag: DAG) -> None:
    @task
    def t() -> None: ...

    a, b, c = empty("abc")

    [a, b] >> Label("both") >> [c, t()]

    assert labels(dag) == {"a-c": "both", "b-c": "both", "a-t": "both", "b-t": "both"}


def test_chain_pairs_labels_with_what_follows(dag: DAG) -> None:
    a, b, c = empty("abc")

    chain(a, [Label("left"), Label("right")], [b, c])

    assert labels(dag) == {"a-b": "left", "a-c": "right"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_label_stands_at_the_edges_of_a_group(dag: DAG, *, turned: bool) -> None:
    a, z = empty("az")
    with TaskGroup("g") as group:
        empty("xy")
    with TaskGroup("none") as none:
        pass

    if turned:
        z << Label("out") << group << none << Label("in") << a
    else:
        a >> Label("in") >> none >> group >> Label("out") >> z

    assert labels(dag) == {"a-g.x": "in", "a-g.y": "in", "g.x-z": "out", "g.y-z": "out"}


@pytest.mark.parametrize("turned", [False, True])
def test_an_empty_group_hands_on_a_label(dag: DAG, *, turned: bool) -> None:
    a, z = empty("az")
    with TaskGroup("none") as none:
        pass

    if turned:
        z.set_upstream(none, edge_modifier=Label("x"))
        a >> none
    else:
        a.set_downstream(none, edge_modifier=Label("x"))
        none >> z

    assert labels(dag) == {"a-z": "x"}


def test_a_label_adds_no_edge(dag: DAG) -> None:
    """In Airflow a label would have all of the group wait, or be waited for."""
    with TaskGroup("g"):
        a, _ = empty("ab")
    (z,) = empty("z")

    a >> Label("x") >> z

    assert labels(dag) == {"g.a-z": "x"}


def test_two_labels_need_a_task_between_them(dag: DAG) -> None:
    (a,) = empty("a")

    with pytest.raises(DagError, match=r"Between Label\('x'\) and Label\('y'\) there is no task"):
        a >> Label("x") >> Label("y")


@pytest.mark.parametrize("text", [3, None, "a\0b"])
def test_a_label_is_text(text: Any) -> None:
    with pytest.raises(DagError, match="The text of a label"):
        Label(text)


def test_chain_linear_crosses_neighbouring_elements(dag: DAG) -> None:
    a, b, c, d, e, f = empty("abcdef")

    chain_linear(a, [b, c], [d, e], f)

    assert labels(dag).keys() == {
        "a-b", "a-c", "b-d", "b-e", "c-d", "c-e", "d-f", "e-f",
    }  # fmt: skip


def test_chain_linear_takes_groups(dag: DAG) -> None:
    a, b = empty("ab")
    with TaskGroup("g") as group:
        empty("xy")

    chain_linear([a, b], group)

    assert labels(dag).keys() == {"a-g.x", "a-g.y", "b-g.x", "b-g.y"}


def test_chain_linear_refuses_to_do_nothing_and_labels(dag: DAG) -> None:
    a, b = empty("ab")

    for nothing in ([], [a], [[a, b]]):
        with pytest.raises(DagError, match="has nothing to link; pass two elements or more"):
            chain_linear(*nothing)
    with pytest.raises(DagError, match=r"chain_linear takes no Label\('x'\); use chain"):
        chain_linear(a, Label("x"), b)
