"""Jinja templates in the fields of a task."""

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from headway.domain.arguments import PLAIN, ObjectUrl, is_bare
from headway.domain.dag.templates import MARKS
from headway.sdk.authoring.groups.group_argument import GroupArgument
from headway.sdk.authoring.xcom_arg import LATE, XComArg, late_in, transform
from headway.sdk.context import template_files
from headway.sdk.context.literals import LiteralText
from headway.sdk.context.template_files import FileText
from headway.sdk.exceptions import TemplateError
from headway.sdk.running.context import Context
from headway.sdk.running.dag_param import DagParam

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.operator import BaseOperator


def is_static(value: object) -> bool:
    """Return whether an argument is known before the task runs: no template, output or param."""
    return not any(map(_is_template, texts_in(value))) and next(late_in(value), None) is None


def texts_in(value: object) -> Iterator[str]:
    """Yield every text inside an argument that may be a template."""
    if type(value) is str:
        yield value
        return
    if is_bare(value):
        return
    found: list[str] = []

    def look(leaf: object) -> object:
        if isinstance(leaf, str) and not isinstance(leaf, LiteralText):
            found.append(leaf)
        elif isinstance(leaf, ObjectUrl):
            leaf.map_texts(look)
        return leaf

    transform(value, look)
    yield from found


def rendered(
    operator: "BaseOperator", context: Context, untouched: tuple[object, ...] = ()
) -> "BaseOperator":
    """Return a copy of `operator` whose template fields have their values for this run.

    Text that is part of `untouched` is data, and stays as it is.
    """
    operator, data = copy.copy(operator), _identities(untouched)
    for field in operator.template_fields:
        setattr(operator, field, _with_files(operator, field, data))
    operator.prepare_template()
    rendering = _Rendering(operator.dag, context, data, operator)
    for field in operator.template_fields:
        value = rendering.of(getattr(operator, field), f"{operator.where}: {field}")
        setattr(operator, field, value)
    return operator


def render(value: object, context: Context, where: str) -> Any:
    """Render every template in an argument, and fetch every task output and param."""
    return _Rendering(context.get("dag"), context, frozenset()).of(value, where)


def _identities(untouched: tuple[object, ...]) -> Collection[int]:
    data: set[int] = set()
    if not untouched:
        return data
    transform(untouched, lambda item: data.add(id(item)))
    return data


def _with_files(operator: "BaseOperator", field: str, data: Collection[int]) -> object:
    """Return a field with the contents of the template files that it names."""
    value, endings = getattr(operator, field), operator.template_ext
    if not endings:
        return value

    def leaf(item: object) -> object:
        if id(item) in data or not template_files.is_name(item, endings):
            return item
        found = template_files.read(operator.dag, item)
        if found is None and item is value and operator.dag and operator.dag.file:
            raise TemplateError(f"{operator.where}: {template_files.missing(field, item)}")
        return item if found is None else found

    return transform(value, leaf)


@dataclass
class _Rendering:
    """Templates of one DAG, rendered in one context; text with an identity of `data` is none."""

    dag: "DAG | None"
    context: Context
    data: Collection[int]
    operator: "BaseOperator | None" = None
    """Whose fields these are, if it is an operator's."""

    @cached_property
    def environment(self) -> "SandboxedEnvironment":
        # Importing the template engine takes longer than all of the SDK, and most tasks have no
        # use for it.
        from headway.sdk.context.jinja_environment import environment_of

        return environment_of(self.dag, self.context)

    def of(self, value: object, where: str) -> Any:
        return transform(value, lambda item: self._leaf(item, where))

    def _leaf(self, item: object, where: str) -> object:
        if isinstance(item, XComArg):
            return self.context["ti"].resolve(item)
        if isinstance(item, DagParam):
            return self._param(item, where)
        if isinstance(item, GroupArgument):
            return self._argument(item, where)
        if isinstance(item, str | ObjectUrl):
            if id(item) in self.data:
                return item
            return self._text(item, where) if isinstance(item, str) else self._url(item, where)
        return self._object(item, where)

    def _object(self, item: object, where: str) -> object:
        if type(item) in PLAIN or isinstance(item, type):
            return item
        if not hasattr(item, "template_fields"):
            return self.operator.render_object(item, self.context) if self.operator else item
        inner: Any = copy.copy(item)
        for field in inner.template_fields:
            setattr(inner, field, self.of(getattr(inner, field), f"{where}.{field}"))
        return inner

    def _url(self, url: ObjectUrl, where: str) -> ObjectUrl:
        return url.map_texts(lambda text: self._text(text, where))

    def _argument(self, argument: GroupArgument, where: str) -> object:
        """Return the value of an argument of the task's group; text in it is no template."""
        value = self.context["ti"].group_argument(argument.name)
        if next(late_in(value), None) is None:
            return value
        return transform(
            value, lambda item: self._leaf(item, where) if isinstance(item, LATE) else item
        )

    def _param(self, param: DagParam, where: str) -> object:
        if param.name not in self.context["params"]:
            raise TemplateError(f"{where}: the run has no value for the param {param.name!r}.")
        return self.context["params"][param.name]

    def _text(self, source: str, where: str) -> object:
        if isinstance(source, FileText):
            where = f"{where}, file {source.name!r}"
        if isinstance(source, LiteralText) or not self._is_rendered(source):
            return str(source)
        from jinja2 import TemplateError as JinjaError

        try:
            return self.environment.from_string(str(source)).render(self.context)
        except (
            JinjaError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise self._refusal(error, where) from None

    def _is_rendered(self, source: str) -> bool:
        """Whether the template engine has to see a text: all of them if it makes objects."""
        special = self.dag is not None and (
            self.dag.render_template_as_native_obj or self.dag.jinja_environment_kwargs
        )
        return bool(special) or _is_template(source)

    def _refusal(self, error: Exception, where: str) -> TemplateError:
        line = getattr(error, "lineno", None) or _line(error)
        known = {**self.context, **(self.dag.user_defined_macros if self.dag else {})}
        said = f"the template does not render: {error}. {_hint(str(error), known)}"
        return TemplateError(f"{where}, line {line}: {said}")


def _is_template(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def _line(error: Exception) -> int:
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if "<" in frame.filename]
    return (lines[-1] if lines else None) or 1


def _hint(message: str, known: Mapping[str, object]) -> str:
    unknown = message.split("'")[1] if message.endswith("is undefined") else ""
    near = get_close_matches(unknown, known)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known names: {', '.join(sorted(known))}."
