"""BaseOperator: one task of a DAG, and what happens when one is made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, get_args

from headway.domain.arguments import is_bare
from headway.domain.dag.names import check_key
from headway.domain.dag.spec import MapInput
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagError
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.attributes import TaskAttributes
from headway.sdk.authoring.current import MakingTask, current_dag
from headway.sdk.authoring.dependencies import (
    Dependent,
    TaskDependent,
    Tasks,
    connect,
    cross_downstream,
)
from headway.sdk.authoring.groups.task_group import TaskGroup, group_for
from headway.sdk.authoring.task_options import REFUSED, TASK_OPTIONS, TaskOptions, stored
from headway.sdk.authoring.xcom_arg import XComArg, outputs_in
from headway.sdk.running.retry_policy import retry_policy_in
from headway.sdk.running.task_runtime import DEFAULT_SPARK
from headway.sdk.values import checks
from headway.sdk.values.signatures import signature

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.groups.mapped_group import MappedTaskGroup
    from headway.sdk.authoring.mapped import OperatorPartial
    from headway.sdk.running.context import Context


class OperatorType(type):
    """Make operators: fill in the DAG's default_args, refuse unknown arguments, join the DAG."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Make a task; keyword arguments only, as for Airflow."""
        group = _group(given, given.get("task_id"))
        dag = group.dag if group else None
        if args or not given.keys() <= accepted_names(cls):
            where = f"{place(dag, given.get('task_id'))}: {cls.__name__}"
            if args:
                raise DagError(f"{where} takes keyword arguments only: task_id=…")
            checks.known(given, accepted_names(cls), where, REFUSED)
        arguments = {**defaults(cls, group), **given}
        operator = cls.make_apart(arguments, lambda: place(dag, given.get("task_id")))
        _join(operator, dag)
        return operator

    def make_apart(cls, arguments: Mapping[str, Any], where: Callable[[], str]) -> "BaseOperator":
        """Make a task that joins no DAG, such as an instance of a mapped one."""
        try:
            with MakingTask():
                operator = super().__call__(**arguments)
        except TypeError:
            check_arguments(cls, arguments, where())
            raise
        if not isinstance(operator, BaseOperator) or not hasattr(operator, "spec_fields"):
            raise DagError(f"{where()}: {cls.__name__} must call super().__init__(**kwargs).")
        operator.made_from = arguments
        return operator


class BaseOperator(TaskAttributes, TaskDependent, metaclass=OperatorType):
    """One task.  Override `execute`; name in `template_fields` the attributes to render.

    The arguments that every task takes are in TaskOptions.  What `execute` returns
    is pushed as the task's XCom, unless it is None or `do_xcom_push` is False.
    """

    template_fields: ClassVar[Sequence[str]] = ()
    template_ext: Sequence[str] = ()
    """How names of template files end: text of a template field that ends so names one."""
    template_fields_renderers: ClassVar[Mapping[str, str]] = {}
    """In which language a template field is; no page of Headway makes use of it."""
    operator_name: ClassVar[str | None] = None
    not_taken: ClassVar[frozenset[str]] = frozenset()
    """Arguments of its bases that an operator gives them itself."""
    needs_spark: ClassVar[bool] = False

    spark_conn_id: str = DEFAULT_SPARK
    """The connection of the session that `context["spark"]` is."""
    spark_driver: bool = False
    """Whether that is the session of a driver of the attempt's own."""

    skipped_task_ids: frozenset[str] = frozenset()
    """The tasks below to skip once it has succeeded: `execute` says which, see SkipMixin."""

    run_conditions: "tuple[Callable[[Context], None], ...]" = ()
    """What is called right before `pre_execute`, and may skip the task."""

    made_from: Mapping[str, object]
    """The arguments that its constructor was given."""
    task_group: TaskGroup | None

    def __init__(self, task_id: str, **options: Unpack[TaskOptions]) -> None:
        group = self.task_group = _group(options, task_id)
        self.dag: DAG | None = group.dag if group else None
        self.task_id: str = task_id
        if not options.keys() <= TASK_OPTIONS:
            checks.known(options, TASK_OPTIONS, self.where, REFUSED)
        self.upstream_task_ids: set[str] = set()
        self.downstream_task_ids: set[str] = set()
        try:
            check_key("task", task_id)
            if group is not None and group.group_id is not None:
                self.task_id = check_key("task", group.child_id(task_id))
            self.do_xcom_push = checks.flag(options.get("do_xcom_push", True), "do_xcom_push")
            self.multiple_outputs = checks.flag(
                options.get("multiple_outputs", False), "multiple_outputs"
            )
            self.retry_policy = retry_policy_in(options)
            self.calls_on = callbacks.of_task(options)
            self.calls_first = callbacks.functions(
                options.get(callbacks.ON_EXECUTE), callbacks.ON_EXECUTE
            )
            self.spec_fields = {
                "task_id": self.task_id,
                "operator": type(self).__dict__.get("operator_name") or type(self).__qualname__,
                "needs_spark": self.needs_spark,
                "callbacks": callbacks.events(self.calls_on),
                **stored(options),
            }
        except DagError as error:  # it names the argument; most tasks need no text for the place
            raise DagError(f"{self.where}: {error}") from None

    def execute(self, context: "Context") -> Any:
        """Do the work of the task; what is returned becomes its XCom."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, context).")

    def pre_execute(self, context: "Context") -> None:
        """Do what comes right before `execute`; an error here fails the attempt."""

    def post_execute(self, context: "Context", result: Any = None) -> None:
        """Do what comes right after `execute` has returned the result."""

    def prepare_template(self) -> None:
        """Change template fields after the files that they name are read, before they render."""

    def render_template(self, content: Any, context: "Context") -> Any:
        """Return content with its templates rendered, also those in lists and dictionaries."""
        return context["ti"].render(content, context)

    def render_object(self, item: Any, context: "Context") -> Any:  # noqa: ARG002
        """Return what an object in a template field is once its templates are rendered."""
        return item

    @classmethod
    def as_data(cls, item: object) -> object:
        """Return how an object among the arguments is stored with the DAG, which shows it."""
        return item

    @classmethod
    def key_as_data(cls, key: object) -> object:
        """Return how a key of a dictionary among the arguments is stored with the DAG."""
        return key

    def on_kill(self) -> None:
        """Do what there is to do when the task is told to stop, such as to cancel a job elsewhere.

        It is called in the task's process, in the middle of `execute`, which does not go on.
        """

    @classmethod
    def partial(cls, **arguments: Any) -> "OperatorPartial":
        """Fix some arguments, and the options, of a mapped task; `expand` gives the others."""
        from headway.sdk.authoring.mapped import OperatorPartial

        return OperatorPartial(cls, arguments)

    def needed_outputs(self) -> Iterator[XComArg]:
        """Yield the outputs of other tasks that the arguments hold."""
        for field in self.template_fields:
            value = getattr(self, field)
            if not is_bare(value):
                yield from outputs_in(value)

    @classmethod
    def files_among(cls, arguments: Mapping[str, object]) -> Sequence[str]:  # noqa: ARG003
        """Return the paths among these arguments that may name files beside the DAG file."""
        return ()

    @cached_property
    def given_arguments(self) -> Mapping[str, object]:
        """What the task was made from, besides the options that every task takes."""
        return {
            name: value
            for name, value in self.made_from.items()
            if name not in TASK_OPTIONS and name != "task_id"
        }

    def bundle_files(self) -> Sequence[str]:
        """Return the paths among the arguments that may name files beside the DAG file."""
        return self.files_among(self.given_arguments)

    @property
    def is_mapped(self) -> bool:
        """Whether it has several instances: it is expanded, by itself or with its group."""
        return self.mapped_group is not None

    @property
    def mapped_group(self) -> "MappedTaskGroup | None":
        """The mapped group that it is in; None if it is in none."""
        return self.task_group.mapped_group if self.task_group else None

    def map_inputs(self) -> tuple[MapInput, ...]:
        """Return what decides how many instances it has; nothing if it is not mapped."""
        group = self.mapped_group
        if group is not None:
            return group.expansion.inputs()
        found: tuple[MapInput, ...] = self.spec_fields.get("mapped_over", ())
        return found

    @property
    def output(self) -> XComArg:
        """The task's return value, as an argument for other tasks."""
        return XComArg(self)

    @property
    def where(self) -> str:
        """The task's place, for messages."""
        return place(self.dag, self.task_id)

    def as_operator(self) -> "BaseOperator":
        """Return this task."""
        return self

    def as_setup(self) -> "BaseOperator":
        """Mark this task as one that prepares what a teardown removes."""
        self.change_spec(is_setup=True)
        return self

    def as_teardown(
        self, *, setups: "Tasks | None" = None, on_failure_fail_dagrun: bool = False
    ) -> "BaseOperator":
        """Mark this task as one that cleans up once all is done, if a setup succeeded.

        How it ends does not count for the run, unless `on_failure_fail_dagrun` says so.
        """
        where = f"{self.where}: on_failure_fail_dagrun"
        self.change_spec(
            is_teardown=True,
            trigger_rule=TriggerRule.ALL_DONE_SETUP_SUCCESS,
            on_failure_fail_dagrun=checks.flag(on_failure_fail_dagrun, where),
        )
        if setups is not None:
            for setup in [setups] if isinstance(setups, Dependent) else setups:
                setup.as_operator().as_setup()
            cross_downstream(setups, self)
        return self

    def __repr__(self) -> str:
        return f"<Task({type(self).__name__}): {self.task_id}>"


def place(dag: "DAG | None", task_id: object) -> str:
    """Return how messages name a task."""
    task = f"task {checks.shown(task_id)}" if task_id is not None else "a task without task_id"
    return f"DAG {dag.dag_id!r}, {task}" if dag else task[0].upper() + task[1:]


def check_arguments(operator: OperatorType, arguments: Mapping[str, Any], where: str) -> None:
    """Refuse arguments that the constructor of an operator cannot be called with."""
    try:
        signature(operator.__init__).bind(None, **arguments)  # type: ignore[misc]
    except TypeError as error:
        raise DagError(f"{where}: {operator.__name__}: {error}.") from None


@cache
def accepted_names(operator: type) -> frozenset[str]:
    """Return the arguments that an operator class and its bases take."""
    names: set[str] = set()
    for base in operator.__mro__:
        constructor = base.__dict__.get("__init__")
        if base is object or constructor is None:
            continue
        own, any_other = _names_of(constructor)
        names |= own
        if not any_other:
            break
    not_taken: frozenset[str] = getattr(operator, "not_taken", frozenset())
    return frozenset(names - not_taken)


@cache
def _names_of(constructor: Callable[..., object]) -> tuple[frozenset[str], bool]:
    """Return the arguments that a constructor names, and whether it takes others as well."""
    names: set[str] = set()
    parameters = list(signature(constructor).parameters.values())[1:]
    for parameter in parameters:
        if parameter.kind is not parameter.VAR_KEYWORD:
            names.add(parameter.name)
        elif options := get_args(parameter.annotation):
            names.update(options[0].__annotations__)
    return frozenset(names), any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters
    )


def defaults(operator: type, group: TaskGroup | None) -> dict[str, object]:
    """Return those default_args of a group, and of its DAG, that an operator class takes."""
    if group is None or not (group.default_args or group.dag.default_args):
        return {}
    names = accepted_names(operator)
    given = {**group.dag.default_args, **group.default_args}
    return {name: value for name, value in given.items() if name in names}


def _group(options: Mapping[str, Any], task_id: object) -> TaskGroup | None:
    try:
        return group_for(options)
    except DagError as error:
        where = place(options.get("dag") or current_dag(), task_id)
        raise DagError(f"{where}: {error}") from None


def _join(operator: BaseOperator, dag: "DAG | None") -> None:
    if dag is not None:
        dag.add_task(operator)
    for field in operator.template_fields:
        if not hasattr(operator, field):
            raise DagError(
                f"{operator.where}: template_fields names {field!r}, "
                f"but {type(operator).__name__} sets no such attribute."
            )
    for output in operator.needed_outputs():
        connect(output.operator, operator)
