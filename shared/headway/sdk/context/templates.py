"""Jinja templates in the fields of a task."""

import copy
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from headway.domain.dag.templates import MARKS
from headway.sdk.authoring.xcom_arg import XComArg, late_in, transform
from headway.sdk.context.build import FORMATS
from headway.sdk.exceptions import TemplateError
from headway.sdk.running.context import Context
from headway.sdk.running.dag_param import DagParam
from headway.sdk.running.old_names import LAZY

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

    from headway.sdk.authoring.operator import BaseOperator


def is_static(value: object) -> bool:
    """Return whether an argument is known before the task runs: no template, output or param."""
    templates: list[str] = []

    def look(leaf: object) -> None:
        if isinstance(leaf, str) and any(mark in leaf for mark in MARKS):
            templates.append(leaf)

    transform(value, look)
    return not templates and next(late_in(value), None) is None


def rendered(
    operator: "BaseOperator", context: Context, untouched: tuple[object, ...] = ()
) -> "BaseOperator":
    """Return a copy of `operator` whose template fields have their values for this run.

    Text that is part of `untouched` is data, and stays as it is.
    """
    operator = copy.copy(operator)
    for field in operator.template_fields:
        value = getattr(operator, field)
        where = f"{operator.where}: {field}"
        setattr(operator, field, render(value, context, where, untouched))
    return operator


def render(value: object, context: Context, where: str, untouched: tuple[object, ...] = ()) -> Any:
    """Render every template in an argument, and fetch every task output and param."""
    data: set[int] = set()
    transform(untouched, lambda item: data.add(id(item)))

    def leaf(item: object) -> object:
        if isinstance(item, XComArg):
            return context["ti"].resolve(item)
        if isinstance(item, DagParam):
            return _param(item, context, where)
        if isinstance(item, str) and id(item) not in data and any(mark in item for mark in MARKS):
            return _render_text(item, context, where)
        return item

    return transform(value, leaf)


def _param(param: DagParam, context: Context, where: str) -> object:
    if param.name not in context["params"]:
        raise TemplateError(f"{where}: the run has no value for the param {param.name!r}.")
    return context["params"][param.name]


def _render_text(source: str, context: Context, where: str) -> str:
    from jinja2 import TemplateError as JinjaError

    try:
        return _environment().from_string(source).render(_known_to(source, context))
    except (JinjaError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        line = getattr(e, "lineno", None) or _line(e)
        raise TemplateError(
            f"{where}, line {line}: the template does not render: {e}. {_hint(str(e), context)}"
        ) from None


def _known_to(source: str, context: Context) -> Mapping[str, Any]:
    """Return the context with those lazy names that the template uses."""
    asked = {name for name in LAZY if name in source}
    if not asked:
        return context
    from jinja2.meta import find_undeclared_variables

    asked &= find_undeclared_variables(_environment().parse(source))
    return {**context, **{name: context[name] for name in asked}}


def _line(error: Exception) -> int:
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if "<" in frame.filename]
    return (lines[-1] if lines else None) or 1


def _hint(message: str, known: Mapping[str, object]) -> str:
    unknown = message.split("'")[1] if message.endswith("is undefined") else ""
    near = get_close_matches(unknown, known)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known names: {', '.join(sorted(known))}."


@cache
def _environment() -> "SandboxedEnvironment":
    # Importing the template engine takes longer than all of the SDK, and most tasks have no use
    # for it.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    filters: Mapping[str, Callable[..., str]] = FORMATS
    environment.filters.update(filters)
    return environment
