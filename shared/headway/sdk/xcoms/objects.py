"""Objects in XComs whose class a module of the version defines.

Each is stored as the name of its class and the values of its fields.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum, Flag
from typing import Any, TypeAlias

from headway.domain.arguments import TAG, JsonValue
from headway.domain.xcoms import FIELDS, XComKind
from headway.sdk.exceptions import XComError
from headway.sdk.xcoms.classes import own_class, own_name

EncodeFields: TypeAlias = Callable[[Mapping[str, object]], JsonValue]
DecodeFields: TypeAlias = Callable[[Any], Any]
"""The codec, for the values inside an object."""


def encode_object(value: object, where: str, encode: EncodeFields) -> dict[str, JsonValue] | None:
    """Return an object of a class of the version as a tagged map; None for any other value.

    XComError for a dataclass, a member of an enumeration or a model of another class.
    """
    cls: Any = type(value)
    if isinstance(value, tuple):
        name = own_name(cls) if hasattr(cls, "_fields") else None
        return None if name is None else _tagged(XComKind.NAMED_TUPLE, name, encode, _named(value))
    if isinstance(value, Enum):
        return _encode_enum(value, _own_name(cls, where, "its value"), encode)
    if hasattr(cls, "__dataclass_fields__"):
        name = _own_name(cls, where, "dataclasses.asdict(…) of it")
        given = {field.name: getattr(value, field.name) for field in fields(cls)}
        return _tagged(XComKind.DATACLASS, name, encode, given)
    if _is_model(value):
        return _encode_model(value, where, encode)
    return None


def decode_named_tuple(data: dict[str, Any], decode: DecodeFields) -> object:
    """Return the named tuple."""
    cls: Any = own_class(data["class"])
    if not issubclass(cls, tuple) or not hasattr(cls, "_fields"):
        raise LookupError(f"{_title(data)} is no named tuple any more")
    given = _fields(data, cls._fields, decode)
    return tuple.__new__(cls, [given[name] for name in cls._fields])


def decode_enum(data: dict[str, Any], decode: DecodeFields) -> object:
    """Return the member of the enumeration."""
    cls = own_class(data["class"])
    if not issubclass(cls, Enum):
        raise LookupError(f"{_title(data)} is no enumeration any more")
    if issubclass(cls, Flag):
        return cls(decode(data["value"]))
    if data["name"] not in cls.__members__:
        raise LookupError(f"{_title(data)} has no member {data['name']!r} any more")
    return cls[data["name"]]


def decode_dataclass(data: dict[str, Any], decode: DecodeFields) -> object:
    """Return the object, made by its class; then each field has the value that was stored."""
    cls: Any = own_class(data["class"])
    if not hasattr(cls, "__dataclass_fields__"):
        raise LookupError(f"{_title(data)} is no dataclass any more")
    known = fields(cls)
    given = _fields(data, [field.name for field in known], decode)
    made = cls(**{field.name: given[field.name] for field in known if field.init})
    for name, value in given.items():
        object.__setattr__(made, name, value)
    return made


def decode_model(data: dict[str, Any], decode: DecodeFields) -> object:
    """Return the model as it was, without validating it again."""
    cls: Any = own_class(data["class"])
    known = getattr(cls, "model_fields", None)
    if known is None:
        raise LookupError(f"{_title(data)} is no pydantic model any more")
    state = {
        "__dict__": _fields(data, list(known), decode),
        "__pydantic_fields_set__": set(data["set"]),
        "__pydantic_extra__": None,
        "__pydantic_private__": None,
    }
    made = cls.__new__(cls)
    made.__setstate__(state)
    return made


def _encode_enum(value: Enum, name: str, encode: EncodeFields) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {TAG: str(XComKind.ENUM), "class": name}
    if isinstance(value, Flag):  # which may be several members together
        return {**found, "value": value.value}
    encode({"name": value.name})
    return {**found, "name": value.name}


def _is_model(value: object) -> bool:
    main = sys.modules.get("pydantic.main")  # whoever has a model has imported it
    return main is not None and isinstance(value, main.BaseModel)


def _encode_model(value: Any, where: str, encode: EncodeFields) -> dict[str, JsonValue]:
    cls = type(value)
    name = _own_name(cls, where, "model_dump() of it")
    if value.__pydantic_private__ or value.__pydantic_extra__:
        raise XComError(
            f"{where} is a model with private or extra attributes, which would be lost; return "
            "model_dump() of it."
        )
    found = _tagged(
        XComKind.PYDANTIC, name, encode, {each: getattr(value, each) for each in cls.model_fields}
    )
    return {**found, "set": sorted(value.model_fields_set)}


def _tagged(
    kind: XComKind, name: str, encode: EncodeFields, given: Mapping[str, object]
) -> dict[str, JsonValue]:
    return {TAG: str(kind), "class": name, FIELDS: encode(given)}


def _named(value: Any) -> dict[str, object]:
    return dict(zip(value._fields, value, strict=True))


def _own_name(cls: type, where: str, instead: str) -> str:
    name = own_name(cls)
    if name is None:
        raise XComError(
            f"{where} is of the class {cls.__qualname__}, which is not at the top level of a "
            f"module of the DAG's bundle: define it there, or return {instead}."
        )
    return name


def _fields(data: dict[str, Any], known: Any, decode: DecodeFields) -> dict[str, Any]:
    stored = data[FIELDS]
    if stored.keys() != set(known):
        raise LookupError(
            f"{_title(data)} has the fields {', '.join(known)}; stored are {', '.join(stored)}"
        )
    return {name: decode(stored[name]) for name in known}


def _title(data: dict[str, Any]) -> str:
    return f"the class {str(data['class']).partition(':')[2]}"
