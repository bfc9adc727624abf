"""The words that values_schema.py is written in: JSON Schema, draft 7."""

from typing import Final, TypeAlias

Schema: TypeAlias = dict[str, object]

ANY: Final[Schema] = {"type": "object"}
TEXT: Final[Schema] = {"type": "string"}
TRUTH: Final[Schema] = {"type": "boolean"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
EMPTY: Final[Schema] = {"maxLength": 0}
FILLED: Final[Schema] = {"minLength": 1}
SCALAR: Final[Schema] = {"type": ["string", "number", "boolean"]}
POSITIVE: Final[Schema] = {"type": "number", "exclusiveMinimum": 0}
NOT_NEGATIVE: Final[Schema] = {"type": "number", "minimum": 0}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": TEXT}
SCALARS: Final[Schema] = {"type": "object", "additionalProperties": SCALAR}
AMOUNTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}


def integer(least: int, most: int | None = None) -> Schema:
    """Return the schema of a whole number within these bounds."""
    return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})


def matching(pattern: str) -> Schema:
    """Return the schema of a text of that form."""
    return {"type": "string", "pattern": pattern}


def one_of(*values: str) -> Schema:
    """Return the schema of one of these texts."""
    return {"enum": list(values)}


def many(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def fields(**properties: object) -> Schema:
    """Return the schema of an object with these properties and no others.

    An underscore at the end of a name is no part of it.
    """
    named = {name.removesuffix("_"): value for name, value in properties.items()}
    return {"type": "object", "additionalProperties": False, "properties": named}


def requiring(schema: Schema, *names: str) -> Schema:
    """Return the same schema, with properties that must be there."""
    return schema | {"required": list(names)}


def nullable(schema: Schema) -> Schema:
    """Return the same schema, with null allowed."""
    return schema | {"type": [schema["type"], "null"]}


def ref(name: str) -> Schema:
    """Return a reference to the definition of that name."""
    return {"$ref": f"#/definitions/{name}"}


def at(path: str, schema: Schema) -> Schema:
    """Return what holds if the value at a path, apart by dots, is absent or fits the schema."""
    for name in reversed(path.split(".")):
        schema = {"properties": {name: schema}}
    return schema


def when(condition: Schema, then: Schema) -> Schema:
    """Return what holds in addition where the condition does."""
    return {"if": condition, "then": then}
