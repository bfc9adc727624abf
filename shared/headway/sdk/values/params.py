"""Params: values that a run may be given, each with a default, and with a schema if need be."""

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Final

from headway.domain.arguments import JsonValue
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.errors import DagError
from headway.sdk.exceptions import XComError
from headway.sdk.values import checks
from headway.sdk.values.xcom import check_json

UNSET: Final = object()
"""What stands for a default that is not there."""


class Param:
    """A default value, a description, and the keywords of a JSON schema that values have to fit.

    Each run must give a value to a param without a default.
    """

    def __init__(
        self, default: object = UNSET, description: str | None = None, **schema: Any
    ) -> None:
        self.value = default
        self.description = description
        self.schema: Mapping[str, Any] = schema
        if "schema" in schema:
            whole = checks.mapping(schema["schema"], "Param: schema")
            if len(schema) > 1:
                others = ", ".join(name for name in schema if name != "schema")
                raise DagError(f"Param: schema is all of the schema; write {others} into it.")
            self.schema = whole

    @property
    def has_value(self) -> bool:
        """Whether there is a default value."""
        return self.value is not UNSET

    def stored(self, name: str, where: str) -> ParamSchema:
        """Return what is declared besides the default, as data."""
        told = checks.optional(checks.text)(self.description, f"{where}: description")
        if not self.schema:
            return ParamSchema(name=name, description=told)
        from headway.domain.schemas.keywords import check_schema  # few DAG files have use for it

        schema = dict(self.schema)
        if isinstance(schema.get("values_display"), Mapping):
            labels: Mapping[object, object] = schema["values_display"]
            schema["values_display"] = {_key(value): label for value, label in labels.items()}
        plain = _json(schema, where)
        check_schema(plain, where)
        assert isinstance(plain, dict)
        return ParamSchema(name=name, schema=plain, description=told)

    def __repr__(self) -> str:
        return f"Param({self.value!r})" if self.has_value else "Param()"


class ParamsDict(MutableMapping[str, Any]):
    """The params of a DAG, read as default values; what is assigned becomes part of the DAG."""

    def __init__(
        self, given: Mapping[str, Param], change: Callable[[Mapping[str, Param]], object]
    ) -> None:
        self._given = dict(given)
        self._change = change

    def get_param(self, name: str) -> Param:
        """Return a param with its schema."""
        return self._given[name]

    def __getitem__(self, name: str) -> Any:
        param = self._given[name]
        if not param.has_value:
            raise KeyError(f"The param {name!r} has no default value.")
        return param.value

    def __setitem__(self, name: str, value: object) -> None:
        changed = {**self._given, name: with_default(self._given.get(name), value)}
        self._change(changed)
        self._given = changed

    def __delitem__(self, name: str) -> None:
        changed = {other: param for other, param in self._given.items() if other != name}
        if len(changed) == len(self._given):
            raise KeyError(name)
        self._change(changed)
        self._given = changed

    def __iter__(self) -> Iterator[str]:
        return (name for name, param in self._given.items() if param.has_value)

    def __len__(self) -> int:
        return sum(param.has_value for param in self._given.values())

    def __repr__(self) -> str:
        return repr(dict(self))


def as_params(given: object, where: str) -> dict[str, Param]:
    """Return what was given as params, each as one; a plain value is a default alone."""
    named = checks.mapping(given or {}, where)
    return {name: with_default(None, value) for name, value in named.items()}


def with_default(known: Param | None, value: object) -> Param:
    """Return the param that a value gives; a plain one leaves what else is declared as it is."""
    if isinstance(value, Param):
        return value
    if known is None:
        return Param(value)
    return Param(value, known.description, **known.schema)


def declared(given: object, where: str) -> dict[str, Any]:
    """Return the fields that params have in a specification: their defaults and their schemas."""
    params = as_params(given, where)
    places = {name: f"{where}[{name!r}]" for name in params}
    values = {
        name: _json(param.value, places[name]) for name, param in params.items() if param.has_value
    }
    schemas = tuple(param.stored(name, places[name]) for name, param in params.items())
    says_more = any(it.schema or it.description for it in schemas) or len(values) < len(params)
    return {"params": values, "param_schemas": schemas if says_more else ()}


def _key(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(value: object, where: str) -> JsonValue:
    try:
        return check_json(value, where)
    except XComError as error:
        raise DagError(str(error)) from None
