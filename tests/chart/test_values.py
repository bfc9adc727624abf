"""values.yaml, its schema and its README say the same."""

import json
from typing import Any

import pytest
import yaml
from deploy.helm import values_readme, values_schema
from deploy.helm.service_schema import GIVEN
from tests.chart.rendering import CHART

from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.worker import WorkerSettings

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_the_schema_is_made_of_the_code() -> None:
    assert values_schema.PATH.read_text() == values_schema.text(), "run `make chart-files`"


def test_the_readme_is_made_of_the_values() -> None:
    assert values_readme.PATH.read_text() == values_readme.text(), "run `make chart-files`"


def test_every_value_is_described() -> None:
    found = list(values_readme.values((CHART / "values.yaml").read_text()))

    assert len(found) > 100
    assert [value.path for value in found if not value.description] == []


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMA["definitions"][name] if name else schema


def differences(schema: dict[str, Any], values: Any, path: str) -> list[str]:
    """What values.yaml lacks of the schema, or has besides."""
    schema = resolved(schema)
    properties = schema.get("properties")
    if properties is None or not isinstance(values, dict):
        return []
    if path.endswith((".settings", ".resources")):
        return []
    found = [f"{path}.{name}" for name in properties.keys() ^ values.keys()]
    both = properties.keys() & values.keys()
    return found + [
        difference
        for name in both
        for difference in differences(properties[name], values[name], f"{path}.{name}")
    ]


def test_every_value_of_the_schema_has_a_default() -> None:
    assert differences(SCHEMA, VALUES, "") == [".global"]
    group = SCHEMA["definitions"]["worker"]["properties"].keys()
    assert group - {"name"} == VALUES["workerDefaults"].keys()


@pytest.mark.parametrize("model", [SchedulerSettings, ParserSettings, WorkerSettings])
def test_settings_are_those_of_the_service(model: Any) -> None:
    section = model.section
    properties = SCHEMA["definitions"][f"{section}Settings"]["properties"]

    assert properties.keys() == model.model_fields.keys() - GIVEN[section]


def objects(schema: Any, path: str = "") -> Any:
    if isinstance(schema, dict):
        if "properties" in schema and "type" in schema:
            yield path, schema
        for name, inner in schema.items():
            if name not in ("if", "then", "not"):
                yield from objects(inner, f"{path}/{name}")
    elif isinstance(schema, list):
        for number, inner in enumerate(schema):
            yield from objects(inner, f"{path}/{number}")


def test_no_object_takes_a_value_that_it_does_not_name() -> None:
    found = dict(objects(SCHEMA))

    assert len(found) > 40
    assert [
        path for path, schema in found.items() if schema.get("additionalProperties") is not False
    ] == []


TOLD_TO_EACH_WORKER = (
    *("slots", "callback_slots"),
    *("lease_duration", "heartbeat_interval", "kill_grace", "drain_grace"),
)


@pytest.mark.parametrize("name", TOLD_TO_EACH_WORKER)
def test_a_worker_of_the_chart_has_the_defaults_of_its_settings(name: str) -> None:
    first, *others = name.split("_")
    of_the_chart = VALUES["workerDefaults"][first + "".join(map(str.title, others))]

    assert of_the_chart == WorkerSettings.model_fields[name].default
