"""A param as an argument of a task, before there is a value."""

from typing import TYPE_CHECKING, NoReturn

from headway.domain.arguments import ParamReference
from headway.domain.errors import DagError
from headway.sdk.running.context import running_context

if TYPE_CHECKING:
    from typing import Any as AnyValue  # a param may be passed as whatever a function takes
else:
    AnyValue = object


class DagParam(AnyValue):  # type: ignore[misc]
    """The value that a run has for a param of its DAG, as an argument of a task."""

    def __init__(self, dag_id: str, name: str) -> None:
        self.dag_id = dag_id
        self.name = name

    @property
    def reference(self) -> ParamReference:
        """This argument as data."""
        return ParamReference(self.name)

    def __str__(self) -> str:
        """Return the template of the value, so that it may stand inside an f-string.

        Nothing would render it that a task itself makes, so there it is refused.
        """
        if running_context() is not None:
            self._has_none()
        return f"{{{{ params[{self.name!r}] }}}}"

    def __repr__(self) -> str:
        return f"<DagParam: {self.name}>"

    def _has_none(self, *_: object) -> NoReturn:
        raise DagError(
            f"DAG {self.dag_id!r}: the param {self.name!r} has no value here; pass it to a task as "
            "an argument and use that, or take it from a function around the one of @dag."
        )

    __bool__ = __iter__ = __len__ = __getitem__ = _has_none
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _has_none
    __hash__ = object.__hash__
