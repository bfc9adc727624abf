"""Params as Airflow's clients know them."""

from typing_extensions import TypedDict

from headway.domain.arguments import JsonValue
from headway.domain.dag.params import known_params
from headway.domain.dag.spec import DagSpec, TaskSpec


class ShownParam(TypedDict):
    """A param: its default value, null if it has none, and what values have to be."""

    value: JsonValue
    schema: dict[str, JsonValue]
    description: str | None


def shown_params(of: DagSpec | TaskSpec) -> dict[str, ShownParam]:
    """Return the params of a DAG, or of a task, by their names."""
    return {
        it.name: ShownParam(value=it.value, schema=dict(it.schema), description=it.description)
        for it in known_params(of)
    }
