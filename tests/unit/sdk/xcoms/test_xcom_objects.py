"""Objects of the version's classes in XComs, and of no others."""

import dataclasses
import sys
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from headway.domain.arguments import JsonValue
from headway.sdk import DAG
from headway.sdk.authoring.current import DagFile
from headway.sdk.exceptions import XComError
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.task_runtime import LocalRuntime
from headway.sdk.xcoms.classes import own_name
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom


def again(value: object) -> Any:
    return decode_xcom(encode_xcom(value, "It"), "It")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_objects_in_each_other_come_out_as_they_went_in(
    shapes: ModuleType, data: st.DataObject
) -> None:
    flags = [shapes.Access.READ, shapes.Access.READ | shapes.Access.WRITE, shapes.Access(0)]
    leaves = st.integers(-9, 9) | st.dates() | st.sampled_from([*shapes.Color, *flags])
    hashable = st.recursive(
        leaves,
        lambda inner: (
            st.builds(shapes.Box, inner)
            | st.builds(shapes.Point, inner, inner)
            | st.frozensets(inner, max_size=2)
        ),
        max_leaves=4,
    )
    value = data.draw(
        st.recursive(
            hashable,
            lambda inner: (
                st.builds(shapes.Box, inner)
                | st.builds(lambda tags: shapes.Row(Name="a", tags=tags), inner)
                | st.dictionaries(hashable, inner, max_size=2)
                | st.lists(inner, max_size=2)
            ),
            max_leaves=4,
        )
    )

    found = again(value)

    assert found == value
    assert encode_xcom(found, "It") == encode_xcom(value, "It")


def test_a_dag_file_that_is_read_from_disk_has_classes_of_its_own(tmp_path: Path) -> None:
    path, modules = sys.path.copy(), set(sys.modules)
    text = "from enum import Enum\nclass Size(Enum):\n    BIG = 1\n"
    Path(tmp_path, "sized.py").write_text(text)

    load_dag_file(tmp_path / "sized.py", tmp_path)
    (name,) = set(sys.modules) - modules
    try:
        big = vars(sys.modules[name])["Size"].BIG
        assert again(big) is big
    finally:
        del sys.modules[name]
        sys.path[:] = path


def test_a_dataclass_is_made_by_its_class_and_has_its_stored_values(shapes: ModuleType) -> None:
    left = shapes.Counted(1)
    left.total = 70

    found = again([left, shapes.Counted.Inside(3)])

    assert found == [left, shapes.Counted.Inside(3)]
    assert (found[0].count, found[0].total, found[0].extra) == (2, 70, "made")


def test_a_model_keeps_what_was_set(shapes: ModuleType) -> None:
    found = again(shapes.Row(Name="a"))

    assert found.model_fields_set == {"name"}
    assert found.model_dump(exclude_unset=True) == {"name": "a"}


def test_members_that_are_text_or_numbers_are_stored_as_these(shapes: ModuleType) -> None:
    assert encode_xcom(shapes.Level.HIGH, "It") == 3
    assert encode_xcom(HTTPStatus.OK, "It") == 200


@dataclasses.dataclass
class Elsewhere:
    """A dataclass of a module that is none of a version's."""

    a: int = 1


class Model(BaseModel):
    """A model of such a module."""


def test_a_named_tuple_of_another_module_is_a_plain_tuple(shapes: ModuleType) -> None:
    assert again(urlsplit("http://a/b")) == ("http", "a", "/b", "", "")
    assert type(again(urlsplit("http://a/b"))) is tuple
    assert type(again(shapes.Renamed(1, 2))) is tuple


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: Elsewhere(), r"class Elsewhere, .* return dataclasses.asdict\(…\) of it"),
        (lambda _: Model(), r"class Model, .* return model_dump\(\) of it"),
        (lambda _: dataclasses.MISSING, "cannot be an XCom"),
        (lambda shapes: shapes.local(), r"class local.<locals>.Local, which is not at the top"),
        (lambda shapes: shapes.Hiding(), "private or extra attributes"),
        (lambda shapes: shapes.Box, "of type type"),
        (lambda shapes: shapes.Box([object()]), r"^It\.content\[0\] is of type object"),
    ],
)
def test_other_objects_are_refused(shapes: ModuleType, make: Any, message: str) -> None:
    with pytest.raises(XComError, match=message):
        encode_xcom(make(shapes), "It")


def dataclass_named(name: str, **fields: int) -> Any:
    return {"__headway__": "dataclass", "class": name, "fields": fields}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lib.shapes:Gone", "the version's module 'lib.shapes' has no class 'Gone'"),
        ("lib.absent:Box", "the version has no module 'lib.absent'"),
        ("lib.shapes:subprocess.Popen", "has no class 'subprocess.Popen'"),
        ("lib.shapes:BaseModel", "has no class 'BaseModel'"),
        ("lib.shapes:local", "has no class 'local'"),
        ("lib.shapes:Color", "the class Color is no dataclass any more"),
        ("lib.shapes:Box", "the class Box has the fields content, label; stored are a"),
        ("lib.shapes:", "has no class"),
        ("subprocess:Popen", "the module 'subprocess' is none of the version's"),
        (f"{__name__}:Elsewhere", "is none of the version's"),
        ("builtins:dict", "the module 'builtins' is none of the version's"),
        ("", "ValueError"),
    ],
)
def test_a_class_that_is_not_there_is_one_clear_error(
    shapes: ModuleType, name: str, message: str
) -> None:
    assert shapes
    with pytest.raises(
        XComError, match=rf"^It cannot be turned back into what it was: .*{message}"
    ):
        decode_xcom(dataclass_named(name, a=1), "It")


def test_a_member_that_is_gone_is_named(shapes: ModuleType) -> None:
    stored: JsonValue = {"__headway__": "enum", "class": f"{shapes.__name__}:Color", "name": "BLUE"}

    with pytest.raises(XComError, match="the class Color has no member 'BLUE' any more"):
        decode_xcom(stored, "It")


def test_no_installed_module_is_imported(
    shapes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a module, nor a package on the way to one."""
    assert shapes
    for folder in ("loud", "lib"):
        Path(tmp_path, folder).mkdir()
        Path(tmp_path, folder, "__init__.py").write_text("raise SystemExit('imported')\n")
        Path(tmp_path, folder, "classes.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    for name in ("loud:A", "loud.classes:A", "lib.classes:A"):
        with pytest.raises(XComError, match="the version has no module"):
            decode_xcom(dataclass_named(name), "It")
    assert "loud" not in sys.modules


@pytest.mark.parametrize(("module", "is_own"), [("__main__", True), ("headway_dag_d", False)])
def test_classes_of_the_program_are_those_of_the_version_if_it_is_the_dag_file(
    module: str, is_own: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = ModuleType("__main__")
    exec("class Row: ...", vars(program))
    monkeypatch.setitem(sys.modules, "__main__", program)
    dag = DAG("d")
    dag.file = DagFile(module, tmp_path / "d.py", tmp_path)

    assert own_name(program.Row) is None
    with running_in(Context({"dag": dag}, LocalRuntime("t"))):
        assert (own_name(program.Row) == "__main__:Row") is is_own
