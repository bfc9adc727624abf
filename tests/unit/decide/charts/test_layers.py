"""The layers of a graph."""

from headway.decide.charts.layers import layers
from headway.testing.data import seed


def test_a_task_stands_in_the_first_layer_below_all_that_it_waits_for() -> None:
    tasks = [
        seed.task("a"),
        seed.task("b", "a"),
        seed.task("c", "a", "b"),
        seed.task("d"),
        seed.task("e", "d", "c"),
    ]

    assert layers(tasks) == {"a": 0, "b": 1, "c": 2, "d": 0, "e": 3}


def test_a_graph_without_tasks_has_no_layers() -> None:
    assert layers([]) == {}
