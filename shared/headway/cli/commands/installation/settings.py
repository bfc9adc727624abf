"""`headway settings`: every setting, what it does, and what it is here."""

from collections.abc import Iterator

from pydantic_core import PydanticUndefined

from headway.runtime.settings import configuration
from headway.runtime.settings.configuration import variable
from headway.runtime.settings.models import MODELS

COLUMNS = ("variable", "value", "default", "description")


def rows() -> Iterator[dict[str, object]]:
    """Yield the settings with their value in this environment; a secret is not shown."""
    for model in MODELS:
        values = configuration.read(model)
        for name, field in model.model_fields.items():
            default = None if field.default is PydanticUndefined else field.default
            yield {
                "variable": variable(model, name),
                "section": model.section,
                "name": name,
                "value": _shown(name, getattr(values, name)),
                "default": _shown(name, default),
                "description": field.description,
            }


def _shown(name: str, value: object) -> str:
    if value is None:
        return ""
    if name.endswith("url"):
        return "(set)"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
