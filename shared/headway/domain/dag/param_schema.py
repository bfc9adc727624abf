"""What a DAG file declares of a param, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.domain.arguments import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamSchema:
    """What is declared of a param besides its default value.

    One that has no default value must be given one by each run.
    """

    name: str
    schema: Mapping[str, JsonValue] = field(default_factory=dict)
    description: str | None = None
