"""Graphs as text."""

import pytest

from headway.cli.screen.drawing import MOST_COLUMNS, MOST_TASKS, draw
from headway.runtime.logs.escaping import visible


def drawn(**downstream: str) -> str:
    """The drawing of a graph: each task with those right below it."""
    rows = draw({task: below.split() for task, below in downstream.items()})
    assert rows is not None
    return "\n".join(f"{columns}  {task or ''}".rstrip() for columns, task in rows)


PICTURES = {
    "chain": (
        {"a": "b", "b": "c", "c": ""},
        """
●  a
●  b
●  c
""",
    ),
    "fan out and in": (
        {"a": "b c d", "b": "e", "c": "e", "d": "e", "e": ""},
        """
●      a
├─┬─╮
● │ │  b
│ ● │  c
│ │ ●  d
├─┴─╯
●      e
""",
    ),
    "diamond": (
        {"a": "b c", "b": "d", "c": "d", "d": ""},
        """
●    a
├─╮
● │  b
│ ●  c
├─╯
●    d
""",
    ),
    "an edge that skips a task": (
        {"a": "b c", "b": "c", "c": ""},
        """
●    a
├─╮
● │  b
├─╯
●    c
""",
    ),
    "apart": (
        {"a": "b", "b": "", "x": ""},
        """
●  a
●  b

●  x
""",
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_graph_looks_like_this(name: str) -> None:
    downstream, picture = PICTURES[name]

    assert drawn(**downstream) == picture.strip("\n")


def test_a_line_passes_behind_the_columns_that_it_crosses() -> None:
    picture = drawn(a="c d", b="c d", c="", d="").splitlines()

    assert picture[4:] == [
        "├─│─╯ │",
        "●   │ │  c".replace("●   │ │", "● │   │"),
        "  ├───╯",
        "  ●      d",
    ]


def test_tasks_are_drawn_in_the_order_given() -> None:
    rows = draw({"a": ["z", "b"], "b": ["z"], "z": []})

    assert rows is not None
    assert [task for _, task in rows if task] == ["a", "b", "z"]


@pytest.mark.parametrize("tasks", [MOST_TASKS, MOST_TASKS + 1])
def test_a_graph_of_too_many_tasks_is_not_drawn(tasks: int) -> None:
    chain = {f"t{n}": [f"t{n + 1}"] if n + 1 < tasks else [] for n in range(tasks)}

    assert (draw(chain) is None) == (tasks > MOST_TASKS)


@pytest.mark.parametrize("wide", [MOST_COLUMNS, MOST_COLUMNS + 1])
def test_a_graph_that_is_too_wide_is_not_drawn(wide: int) -> None:
    fan = {"a": [f"t{n}" for n in range(wide)], **{f"t{n}": [] for n in range(wide)}}

    assert (draw(fan) is None) == (wide > MOST_COLUMNS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢\n\ttext", "plain ü 漢\n\ttext"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_nothing_commands_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown
