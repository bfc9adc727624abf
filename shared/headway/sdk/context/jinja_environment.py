"""The Jinja environment of a DAG's templates.  To import this is to import the template engine."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jinja2 import FunctionLoader, StrictUndefined, TemplateNotFound
from jinja2.nativetypes import NativeEnvironment
from jinja2.runtime import Context as NamesOfTemplate
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing

from headway.domain.errors import DagError
from headway.sdk.context import macros, template_files
from headway.sdk.context.build import FORMATS
from headway.sdk.running.old_names import LAZY

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.running.context import Context


class TemplateSandbox(SandboxedEnvironment):
    """A sandbox in which the modules of `macros` do not lead to those that they have imported."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may have the attribute."""
        if isinstance(obj, ModuleType) and isinstance(value, ModuleType):
            top = obj.__name__.partition(".")[0]
            if top in macros.MODULES and not value.__name__.startswith(f"{obj.__name__}."):
                return False
        return super().is_safe_attribute(obj, attr, value)


class NativeSandbox(TemplateSandbox, NativeEnvironment):
    """A sandbox whose templates give objects of Python instead of text."""


def environment_of(dag: "DAG | None", context: "Context | None" = None) -> SandboxedEnvironment:
    """Return the environment of a DAG's templates, which know the lazy names of the context."""
    kind = NativeSandbox if dag and dag.render_template_as_native_obj else TemplateSandbox
    options: dict[str, Any] = {
        "undefined": StrictUndefined,
        "extensions": ["jinja2.ext.do"],
        "loader": FunctionLoader(lambda name: _load(dag, name)),
        "cache_size": 0,
        **(dag.jinja_environment_kwargs if dag else {}),
    }
    try:
        environment: SandboxedEnvironment = kind(**options)
    except (TypeError, ValueError, AssertionError, ImportError) as error:
        where = f"DAG {dag.dag_id!r}: " if dag else ""
        raise DagError(f"{where}jinja_environment_kwargs: {error}.") from None
    filters: Mapping[str, Callable[..., Any]] = FORMATS
    environment.filters.update(filters)
    if dag is not None:
        environment.globals.update(dag.user_defined_macros)
        environment.filters.update(dag.user_defined_filters)
    environment.context_class = _names_of(context)
    return environment


def _load(dag: "DAG | None", name: str) -> str:
    found = template_files.read(dag, name)
    if found is None:
        told = f"there is no file {name!r} beside the DAG file or on the DAG's template_searchpath"
        raise TemplateNotFound(name, told)
    return found


def _names_of(context: "Context | None") -> type[NamesOfTemplate]:
    """Return the class of what a template knows by name: lazy names are asked of the context."""

    class Names(NamesOfTemplate):
        def resolve_or_missing(self, key: str) -> Any:
            found = super().resolve_or_missing(key)
            if found is missing and key in LAZY and context is not None and key in context:
                return context[key]
            return found

    return Names
