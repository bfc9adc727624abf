"""Timetables as users type them: a cron string, a preset, a duration, or an expression.

An expression is written as in a DAG file, `Hours(9) & Minutes(0) & Workdays("US")`.  It is read
node by node and never evaluated: only timetables can be called, those of Headway and those
that installed packages have registered, with constants and other timetables as arguments.
Durations are ISO 8601 text.
"""

import ast
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, Final

from headway.domain.errors import TimetableError, brief
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds import boolean
from headway.timetables.kinds.boolean import BooleanTimetable
from headway.timetables.kinds.recurring import Recurring
from headway.timetables.kinds.simple import Continuous, Null, Once
from headway.timetables.schedule import timetable_for

LONGEST: Final = 4000
"""Characters beyond which an expression is refused."""

_FIELDS: Final = ("Hours", "Minutes", "Weekdays", "Days", "Months")
_INTERNAL: Final = ("Union", "Intersection", "Exclusion", "BooleanTimetable")
_CLASSES: Final = {kind.__name__: kind for kind in registry.BUILT_IN.values()}

NAMES: Final[Mapping[str, Callable[..., Timetable]]] = {
    **{name: kind for name, kind in _CLASSES.items() if name not in _INTERNAL},
    "Once": Once,
    "Continuous": Continuous,
    "Null": Null,
    **{name: getattr(boolean, name) for name in _FIELDS},
}
"""What an expression may call of Headway's own."""


def read(text: str, timezone: str) -> Timetable:
    """Return the timetable that `text` stands for in the zone of that name, or TimetableError."""
    stripped = text.strip()
    if not stripped:
        raise TimetableError("The timetable is empty; write for example '0 9 * * MON-FRI'.")
    if not _is_expression(stripped):
        timetable = timetable_for(stripped, timezone)
    else:
        timetable = timetable_for(_expression(stripped), timezone)
    return registry.decode(registry.encode(timetable))


def _is_expression(text: str) -> bool:
    return "(" in text or (text.isidentifier() and _known(text) is not None)


def _known(name: str) -> Callable[..., Timetable] | None:
    """Return the timetable of that name: one of Headway's, else one that a package registers."""
    if name in NAMES:
        return NAMES[name]
    registered = registry.installed().get(name)
    return None if registered is None else registry.find(registered)


def _expression(text: str) -> Timetable:
    if len(text) > LONGEST:
        raise TimetableError(f"An expression has at most {LONGEST:,} characters.")
    try:
        tree = ast.parse(text, mode="eval")
        value = _value(tree.body)
    except SyntaxError as error:
        raise TimetableError(f"{brief(text, 100)} cannot be read: {error.msg}.") from None
    except (RecursionError, MemoryError):
        raise TimetableError("The expression is nested too deeply.") from None
    if not isinstance(value, Timetable):
        raise TimetableError(f"{brief(text, 100)} is no timetable.")
    return value


def _value(node: ast.expr) -> Any:  # noqa: PLR0911 - one for each kind of node
    match node:
        case ast.Constant(value=str() | int() | float() | None) if type(node.value) is not bool:
            return node.value
        case ast.List() | ast.Tuple():
            return [_value(item) for item in node.elts]
        case ast.UnaryOp(
            op=ast.USub() | ast.UAdd() as sign,
            operand=ast.Constant(value=int() | float() as number),
        ) if type(number) is not bool:
            return -number if isinstance(sign, ast.USub) else number
        case ast.UnaryOp(op=ast.Invert()):
            return _inverted(node)
        case ast.BinOp():
            return _joined(node)
        case ast.Call(func=ast.Name()):
            return _called(node)
        case ast.Name() if _known(node.id) is not None:
            return _made(node.id, [], {})
    raise TimetableError(
        f"{brief(ast.unparse(node), 100)} has no place in a timetable. Write timetables such as "
        'CronTimetable("0 9 * * *"), with texts, numbers and lists, joined by &, |, - and ~.'
    )


def _inverted(node: ast.UnaryOp) -> Timetable:
    value = _value(node.operand)
    if not isinstance(value, BooleanTimetable):
        raise TimetableError(
            f"~ is for Hours, Minutes, Weekdays, Days and Months, not for "
            f"{brief(ast.unparse(node.operand), 100)}; write `a - b` for the runs of a without b's."
        )
    return ~value


def _joined(node: ast.BinOp) -> Timetable:
    one, other = _value(node.left), _value(node.right)
    joined: Timetable
    if not isinstance(one, Recurring) or not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Sub):
        raise TimetableError(
            f"{brief(ast.unparse(node), 100)}: timetables that say by rule when they run are "
            "joined, by &, | and -. Delayed and RollingWindow go around the whole."
        )
    if isinstance(node.op, ast.BitAnd):
        joined = one & other
    else:
        joined = one | other if isinstance(node.op, ast.BitOr) else one - other
    return joined


def _called(node: ast.Call) -> Timetable:
    assert isinstance(node.func, ast.Name)
    named = {keyword.arg: _value(keyword.value) for keyword in node.keywords if keyword.arg}
    if len(named) < len(node.keywords):
        call = brief(ast.unparse(node), 100)
        raise TimetableError(f"{call}: write arguments by name, without **.")
    return _made(node.func.id, [_value(argument) for argument in node.args], named)


def _made(name: str, given: list[Any], named: Mapping[str, Any]) -> Timetable:
    kind = _known(name)
    if kind is None:
        names = [*NAMES, *registry.installed()]
        near = get_close_matches(name, names)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(names)}."
        raise TimetableError(f"There is no timetable {brief(name)}. {hint}")
    takes = signature(kind)
    try:
        takes.bind(*given, **named)
    except TypeError as error:
        written = ", ".join(map(_written, takes.parameters.values()))
        raise TimetableError(f"{name} is written {name}({written}): {error}.") from None
    try:
        return kind(*given, **named)
    except TimetableError:
        raise
    except Exception as error:  # it may be another package's code
        raise TimetableError(f"{name} fails with {brief(error, 200)}.") from error


def _written(parameter: Parameter) -> str:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"{parameter.name}…"
    return parameter.name if parameter.default is Parameter.empty else f"{parameter.name}=…"
