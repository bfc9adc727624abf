"""PythonOperator: call a function."""

import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from inspect import Parameter
from typing import Any, ClassVar, Unpack

from headway.domain.errors import DagError
from headway.sdk.authoring.asked_names import lazy_values
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.running.context import ASKED_NAMES, Context
from headway.sdk.values.checks import mapping, refuse, texts
from headway.sdk.values.signatures import fits, signature, takes


class PythonOptions(TaskOptions, total=False):
    """What a Python task takes besides its function and its arguments."""

    templates_dict: Mapping[str, Any] | None
    templates_exts: Sequence[str] | None


class PythonOperator(BaseOperator):
    """Call `python_callable` with `op_args` and `op_kwargs`; its result is the XCom.

    Parameters that are named like entries of the context, and not given, receive
    them: `ds`, `params`, `ti`, …; `**context` receives the whole context.  One of these is
    `templates_dict`; text in a template field that ends with one of `templates_exts` names a
    template file.
    """

    template_fields: ClassVar[Sequence[str]] = ("templates_dict", "op_args", "op_kwargs")
    operator_name = "python"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] = (),
        op_kwargs: Mapping[str, Any] | None = None,
        task_id: str,
        **options: Unpack[PythonOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        templates, endings = given.pop("templates_dict", None), given.pop("templates_exts", None)
        super().__init__(task_id, **given)
        self.templates_dict: dict[str, Any] | None = None
        if templates is not None:
            self.templates_dict = mapping(templates, f"{self.where}: templates_dict")
        if endings:
            self.template_ext = texts(endings, f"{self.where}: templates_exts")
        if not callable(python_callable):
            refuse(f"{self.where}: python_callable", "a function", python_callable)
        self.python_callable = python_callable
        self.op_args = list(op_args)
        self.op_kwargs = dict(op_kwargs or {})

    def execute(self, context: Context) -> Any:
        """Call the function."""
        context["templates_dict"] = self.templates_dict
        return call(self.python_callable, self.op_args, self.op_kwargs, context)


def call(
    function: Callable[..., Any],
    args: Collection[Any],
    kwargs: Mapping[str, Any],
    context: Context,
) -> Any:
    """Call `function` with what it is given and what it asks of the context.

    An async function runs to its end, in an event loop of its own.  DagError when it cannot be
    called so.
    """
    given = {**kwargs, **_from_context(function, args, kwargs, context)}
    if not fits(function, args, given, frozenset()):
        _check_binding(function, args, given, context)
    returned = function(*args, **given)
    return _awaited(returned) if inspect.iscoroutine(returned) else returned


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # which takes long to import, and few tasks need it

    return asyncio.run(coroutine)


def _check_binding(
    function: Callable[..., Any], args: Collection[Any], given: Mapping[str, Any], context: Context
) -> None:
    try:
        taken = signature(function)
    except ValueError:  # it is written in C, and does not tell
        return
    try:
        taken.bind(*args, **given)
    except TypeError as error:
        raise DagError(f"{context['task'].where}: {error}; give it what it takes.") from None


def _from_context(
    function: Callable[..., Any],
    args: Collection[Any],
    kwargs: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    taken = takes(function)
    if taken is None:
        return {}
    given = {*taken.positional[: len(args)], *kwargs}
    asked = [name for name in taken.named if name in ASKED_NAMES and name not in given]
    injected = {name: context[name] for name in asked}
    if taken.others:
        rest = {**context, **lazy_values(function, context, given | injected.keys())}
        return {name: value for name, value in rest.items() if name not in given} | injected
    return injected


def check_call(
    function: Callable[..., Any],
    args: Collection[Any],
    kwargs: Mapping[str, Any],
    where: Callable[[], str],
) -> None:
    """Refuse a TaskFlow call whose arguments do not fit the function."""
    if not fits(function, args, kwargs, ASKED_NAMES):
        check_by_signature(function, args, kwargs, where())


def check_by_signature(
    function: Callable[..., Any], args: Collection[Any], kwargs: Mapping[str, Any], where: str
) -> None:
    """Refuse a TaskFlow call by what the function's signature says, which tells what is wrong."""
    try:
        taken = signature(function)
    except ValueError:  # it is written in C, and does not tell
        return
    try:
        bound = taken.bind_partial(*args, **kwargs)
    except TypeError as error:
        raise DagError(f"{where}: {error}.") from None
    for parameter in taken.parameters.values():
        needed = parameter.default is Parameter.empty and not _variable(parameter)
        if needed and parameter.name not in bound.arguments.keys() | ASKED_NAMES:
            raise DagError(f"{where} is called without its argument {parameter.name!r}.")


def _variable(parameter: Parameter) -> bool:
    return parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
