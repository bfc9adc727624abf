"""Templates, and the arguments of a DAG that are about them, which are code: none is stored."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import Any, Final, TypedDict

from headway.domain.dag.templates import fault_of
from headway.domain.errors import DagError
from headway.sdk.values import checks


class TemplateOptions(TypedDict, total=False):
    """What a DAG takes that is about the templates of its tasks."""

    template_searchpath: "str | PathLike[str] | Iterable[str | PathLike[str]] | None"
    user_defined_macros: Mapping[str, Any] | None
    user_defined_filters: Mapping[str, Callable[..., Any]] | None
    render_template_as_native_obj: bool
    jinja_environment_kwargs: Mapping[str, Any] | None


def template(value: object, where: str) -> str | None:
    """Return a template, or None for none; DagError for what cannot be one."""
    if value is None:
        return None
    text = str(checks.text(value, where))
    if fault := fault_of(text):
        raise DagError(f"{where} is no template: {fault}.")
    return text


def folders(value: object, where: str) -> tuple[str, ...]:
    """Return the folders of a `template_searchpath`, of which one may stand alone."""
    if value is None:
        return ()
    given = [value] if isinstance(value, str | PathLike) else value
    if not isinstance(given, Iterable):
        checks.refuse(where, "a folder or a list of them", value)
    return tuple(checks.text(_path(item), where) for item in given)


def _path(value: object) -> object:
    return fspath(value) if isinstance(value, PathLike) else value


def _names(value: Any, where: str) -> Mapping[str, Any]:
    """Return the mapping itself, to which a DAG file may add."""
    if value is None:
        return {}
    checks.mapping(value, where)
    found: Mapping[str, Any] = value
    return found


TEMPLATE_CHECKS: Final[Mapping[str, checks.Check]] = {
    "template_searchpath": folders,
    "user_defined_macros": _names,
    "user_defined_filters": _names,
    "render_template_as_native_obj": checks.flag,
    "jinja_environment_kwargs": _names,
}
"""How each is checked; of None they make the value of a DAG that does not say."""
