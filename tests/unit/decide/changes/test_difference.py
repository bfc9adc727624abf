"""What is different between two versions of a DAG."""

from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import pytest

from headway.decide.changes import difference
from headway.decide.changes.difference import ABSENT, LARGEST, Structure, TaskChange
from headway.domain.dag.spec import MapInput, TimetableSpec
from headway.testing.data import seed


def test_the_same_is_no_difference() -> None:
    spec = seed.dag(seed.task("a"), seed.task("b", "a"))

    assert not difference.structure(spec, spec)
    assert difference.code({"a.py": b"1"}, {"a.py": b"1"}) == []


def test_tasks_and_edges_that_come_and_go() -> None:
    old = seed.dag(seed.task("a"), seed.task("b", "a"), seed.task("c", "a", "b"))
    new = seed.dag(seed.task("a"), seed.task("c", "a"), seed.task("d", "c"))

    assert difference.structure(old, new) == Structure(
        added=["d"],
        removed=["b"],
        edges_added=[("c", "d")],
        edges_removed=[("a", "b"), ("b", "c")],
    )


def test_the_fields_of_a_task_that_have_changed() -> None:
    old = replace(seed.task("a"), retries=1, arguments={"sql": "x", "gone": 1, "same": [1]})
    new = replace(old, retries=2, arguments={"sql": "y", "new": None, "same": [1], "more": 2})
    mapped = replace(old, mapped_over=(MapInput(argument="item", length=2),))

    changed = difference.structure(seed.dag(old), seed.dag(new)).changed
    assert changed == {
        "a": {
            "retries": (1, 2),
            "arguments.sql": ("x", "y"),
            "arguments.gone": (1, ABSENT),
            "arguments.new": (ABSENT, None),
            "arguments.more": (ABSENT, 2),
        }
    }
    [(before, after)] = difference.structure(seed.dag(old), seed.dag(mapped)).changed["a"].values()
    assert (before, after[0]["length"]) == ([], 2)


def test_a_task_that_only_waits_for_others_has_not_changed() -> None:
    old = seed.dag(seed.task("a"), seed.task("b"))
    new = seed.dag(seed.task("a"), seed.task("b", "a"))

    assert difference.structure(old, new) == Structure(
        added=[], removed=[], edges_added=[("a", "b")], edges_removed=[]
    )


def test_the_attributes_of_the_dag() -> None:
    old = seed.dag()
    new = replace(old, tags=("x",), catchup=False, timetable=TimetableSpec(name="null"))

    assert difference.structure(old, new).attributes == {
        "timetable.name": ("delta", "null"),
        "timetable.arguments": ({"delta": 86400.0, "interval": None}, {}),
        "tags": ([], ["x"]),
        "catchup": (True, False),
    }


def test_lines_of_code() -> None:
    [changed] = difference.code({"a.py": b"one\ntwo\n"}, {"a.py": b"one\nthree\n"})

    assert changed.change is TaskChange.CHANGED
    assert changed.lines == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+three",
    ]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (b"x\n", b"x", ["-x", "+x\n\\ No newline at end of file"]),
        (b"x\n", b"x\r\n", ["-x", "+x\r"]),
        (None, b"x\n", ["+x"]),
        (b"x\n", None, ["-x"]),
        (None, b"", []),
    ],
)
def test_ends_of_lines_and_of_files(old: bytes | None, new: bytes | None, lines: list[str]) -> None:
    before = {} if old is None else {"f": old}
    after = {} if new is None else {"f": new}

    [found] = difference.code(before, after)

    assert found.lines is not None
    assert found.lines[3:] == lines
    assert found.change is (
        TaskChange.ADDED
        if old is None
        else TaskChange.REMOVED
        if new is None
        else TaskChange.CHANGED
    )


@pytest.mark.parametrize("content", [b"\0", b"\xff", b"x" * (LARGEST + 1)])
def test_what_is_no_text_or_too_large_is_told_by_its_hash(content: bytes) -> None:
    [found] = difference.code({"f": b"text"}, {"f": content})

    assert found.lines is None
    assert (len(found.before or ""), len(found.after or "")) == (64, 64)
    assert found.before != found.after


def zipped(**files: str) -> bytes:
    archive = BytesIO()
    with ZipFile(archive, "w") as its:
        for name, content in files.items():
            its.writestr(name, content + "\0")
    return archive.getvalue()


def test_entries_of_a_zip_file() -> None:
    [found] = difference.code(
        {"dags.zip": zipped(a="1", b="2", c="3")}, {"dags.zip": zipped(a="1", b="x", d="4")}
    )

    assert found.lines is None
    assert found.entries == {
        "b": TaskChange.CHANGED,
        "c": TaskChange.REMOVED,
        "d": TaskChange.ADDED,
    }


def test_all_entries_of_a_zip_file_come_and_go_with_it() -> None:
    [came] = difference.code({}, {"dags.zip": zipped(a="1")})
    [went] = difference.code({"dags.zip": zipped(a="1")}, {})

    assert (came.entries, went.entries) == ({"a": TaskChange.ADDED}, {"a": TaskChange.REMOVED})


@pytest.mark.parametrize("broken", [b"PK\x03\x04\0\0", zipped(a="1")[:-10]], ids=["head", "cut"])
def test_a_broken_zip_file_has_no_entries(broken: bytes) -> None:
    [found] = difference.code({"x.zip": zipped(a="1")}, {"x.zip": broken})

    assert found.entries == {"a": TaskChange.REMOVED}
