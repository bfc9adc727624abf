"""The params of a DAG and of its tasks: what is declared of them, and what a run may give them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.errors import DagError, RequestError, brief
from headway.domain.schemas.keywords import TYPES
from headway.domain.schemas.matching import has_type, types_of, unmet
from headway.domain.schemas.patterns import check_patterns
from headway.domain.sensitive import is_sensitive

NEVER: Final = "null"
"""The timetable of DAGs that only users trigger."""


@dataclass(frozen=True, slots=True)
class KnownParam:
    """All that is known of a param: its default value, if there is one, and what is declared."""

    name: str
    value: JsonValue
    has_value: bool
    schema: Mapping[str, JsonValue]
    description: str | None

    @property
    def kind(self) -> str:
        """The types of its values, in words; without a schema that of its default."""
        if types_of(self.schema) or not self.has_value:
            return _kind(self.schema)
        return next(words for name, words in TYPES.items() if has_type(self.value, name))

    @property
    def is_required(self) -> bool:
        """Whether its default, or none, is no value that a run may have."""
        return not self.has_value or unmet(self.value, self.schema) is not None

    @property
    def told(self) -> str:
        """What is written of it for people."""
        return self.description or str(self.schema.get("description_md", ""))


@dataclass(frozen=True, slots=True)
class _Scope:
    """Params that apply together: those of a DAG, or those that a task has in it."""

    where: str
    schemas: Sequence[ParamSchema]
    values: Mapping[str, JsonValue]

    def problem(self) -> str | None:
        """Return what is wrong with the first value that is not as its schema wants it."""
        for param in self.schemas:
            if param.name not in self.values:
                wanted = _kind(param.schema)
                return f"{self._named(param.name)} has no value and must have one: {wanted}"
            found = unmet(self.values[param.name], param.schema)
            if found is not None:
                shown = brief(found.value)
                if is_sensitive(param.name):
                    shown = "not shown here,"
                place = f"{self._named(param.name)}{found.path}"
                return f"{place} is {shown} and must be {found.wanted}"
        return None

    def _named(self, name: str) -> str:
        return f"{self.where}: param {name!r}"


def known_params(of: DagSpec | TaskSpec) -> list[KnownParam]:
    """Return the params of a DAG, or of a task, in the order of the DAG file if that is known."""
    schemas = {param.name: param for param in of.param_schemas}
    names = dict.fromkeys([*schemas, *of.params])
    plain = ParamSchema(name="")
    return [
        KnownParam(
            name,
            of.params.get(name),
            name in of.params,
            schemas.get(name, plain).schema,
            schemas.get(name, plain).description,
        )
        for name in names
    ]


def check_declared(spec: DagSpec) -> None:
    """Refuse patterns that cannot be matched, and defaults that do not fit, by a DagError.

    The params of a DAG that only users trigger may lack a default that fits: its runs give one.
    """
    for scope in _scopes(spec, {}):
        for param in scope.schemas:
            check_patterns(param.schema, f"{scope.where}: param {param.name!r}")
        problem = None if spec.timetable.name == NEVER else scope.problem()
        if problem is not None:
            raise DagError(
                f"{problem}; give it such a default, or schedule=None: the schedule runs the DAG "
                "with the defaults."
            )


def check_conf(spec: DagSpec, conf: Mapping[str, JsonValue]) -> None:
    """Refuse a conf that the DAG's params do not allow, by a RequestError.

    Where a param is declared with a schema, all that a conf may have are params.
    """
    scopes = list(_scopes(spec, conf))
    if scopes:
        _check_names(spec, conf)
    for scope in scopes:
        problem = scope.problem()
        if problem is not None:
            raise RequestError(f"{problem}; correct the conf.")


def _scopes(spec: DagSpec, conf: Mapping[str, JsonValue]) -> Iterator[_Scope]:
    where = f"DAG {spec.dag_id}"
    if spec.param_schemas:
        yield _Scope(where, spec.param_schemas, {**spec.params, **conf})
    for task in spec.tasks:
        if task.param_schemas:
            values = {**spec.params, **task.params, **conf}
            yield _Scope(f"{where}, task {task.task_id}", task.param_schemas, values)


def _check_names(spec: DagSpec, conf: Mapping[str, JsonValue]) -> None:
    scopes: list[DagSpec | TaskSpec] = [spec, *spec.tasks]
    known = dict.fromkeys(param.name for scope in scopes for param in known_params(scope))
    for name, value in conf.items():
        if name not in known:
            near = get_close_matches(name, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}."
            shown = "" if is_sensitive(name) else f" for {brief(value)}"
            raise RequestError(f"DAG {spec.dag_id} has no param {name!r}{shown}; {hint}")


def _kind(schema: Mapping[str, JsonValue]) -> str:
    types = types_of(schema)
    return " or ".join(TYPES[name] for name in types) if types else "any value"
