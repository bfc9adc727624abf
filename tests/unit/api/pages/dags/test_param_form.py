"""A DAG with params of all kinds, from its file to the form and to the conf of a run."""

from typing import Any

import pytest

from headway.domain.dag.params import KnownParam, check_conf, known_params
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import RequestError
from headway.sdk import DAG, Param
from headway.sdk.harness.specification import to_spec
from headway.serialization import codec
from headway_api.pages.dags.param_fields import PREFIX, in_sections, param_fields, typed

KINDS: dict[str, tuple[Any, str]] = {
    "rows": (3, "number"),
    "city": ("Oslo", "text"),
    "dry": (False, "flag"),
    "routes": (["a", "b"], "json"),
    "options": ({"key": "value"}, "json"),
    "share": (Param(42, type="integer", minimum=0, maximum=128, section="Typed"), "number"),
    "size": (Param("s", type="string", enum=["s", "m"], section="Typed"), "choice"),
    "sure": (Param(True, "Please confirm", type="boolean", section="Typed"), "flag"),
    "at": (Param("2024-05-01T12:17:00+00:00", type="string", format="date-time"), "datetime-local"),
    "wait": (Param("PT15M", type="string", format="duration"), "text"),
    "day": (Param("2024-05-01", type="string", format="date"), "date"),
    "time": (Param("12:13:14", type=["string", "null"], format="time"), "time"),
    "why": (Param(type="string", minLength=10, maxLength=30, title="Reason"), "text"),
    "note": (Param("may go", type=["null", "string"]), "text"),
    "level": (Param(3, enum=[1, 3, None], values_display={1: "One", None: "-"}), "choice"),
    "name": (Param("Alpha", type="string", examples=("Alpha", "Bravo")), "text"),
    "some": (Param(["2", "3"], "Several", type="array", examples=["1", "2", "3"]), "lines"),
    "numbers": (Param([1, 2], type="array", items={"type": "number"}), "json"),
    "long": (Param("two\nlines", type=["string", "null"], format="multiline"), "text"),
    "object": (Param({"key": "value"}, type=["object", "null"]), "json"),
    "accounts": (Param([{"name": "a"}], type="array", items={"required": ["name"]}), "json"),
    "batch": (Param(1000, type=["integer", "string"]), "loose"),
    "notify": (Param(True, type=["boolean", "string"]), "loose"),
    "fixed": (Param("constant", const="constant"), ""),
}  # fmt: skip
REASON = {"why": "because it is due"}


@pytest.fixture(scope="module")
def spec() -> DagSpec:
    dag = DAG("kinds", params={name: value for name, (value, _) in KINDS.items()})
    return codec.decode(codec.encode(to_spec(dag, "kinds.py")))


@pytest.fixture
def params(spec: DagSpec) -> list[KnownParam]:
    return known_params(spec)


def test_each_has_its_field_in_the_order_of_the_file(params: list[KnownParam]) -> None:
    fields = param_fields(params, {})

    assert [(field.name, str(field.kind)) for field in fields] == [
        (name, kind) for name, (_, kind) in KINDS.items() if kind
    ]
    assert [field.name for field in in_sections(fields)["Typed"]] == ["share", "size", "sure"]
    assert [field.title for field in fields if field.param.is_required] == ["Reason"]


def test_a_form_that_is_left_as_it_is_gives_nothing(params: list[KnownParam]) -> None:
    assert typed(params, {field.field: field.shown for field in param_fields(params, {})}) == {}


def test_one_that_is_filled_in_fits(spec: DagSpec, params: list[KnownParam]) -> None:
    changed = {
        "share": "7", "size": '"m"', "at": "2024-05-02T06:00", "day": "2024-05-02", "time": "",
        "note": "", "level": "null", "some": "1\r\n2", "numbers": "[1.5]", "object": "",
        "batch": "all", "notify": "ann@example.org", **REASON,
    }  # fmt: skip
    conf = typed(params, {PREFIX + name: text for name, text in changed.items()})

    check_conf(spec, conf)
    assert conf.keys() == changed.keys()


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"why": "short"},
        {"share": 129},
        {"size": "l"},
        {"at": "2024-05-01T12:17:00"},
        {"wait": "15 minutes"},
        {"level": 2},
        {"numbers": ["1"]},
        {"accounts": [{"nam": "a"}]},
        {"batch": 1.5},
        {"fixed": "other"},
        {"shares": 1},
    ],
)
def test_what_does_not_fit_is_refused(spec: DagSpec, conf: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=r"^DAG kinds.* param '"):
        check_conf(spec, {**REASON, **conf} if conf else conf)


def test_what_is_needed_is_enough(spec: DagSpec) -> None:
    check_conf(spec, REASON)
