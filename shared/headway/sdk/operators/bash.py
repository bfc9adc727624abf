"""BashOperator, and the operator of @task.bash: run a command with bash."""

import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack

from headway.domain.errors import DagError
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.python_operator import call
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.authoring.xcom_arg import LATE, XComArg
from headway.sdk.context.templates import render
from headway.sdk.context.told_environment import inherited
from headway.sdk.exceptions import AirflowException, AirflowSkipException
from headway.sdk.running.context import Context
from headway.sdk.values import checks

SKIP_EXIT_CODE: Final = 99


class BashOptions(TaskOptions, total=False):
    """What a bash task takes besides its command."""

    env: Mapping[str, Any] | XComArg | None
    append_env: bool
    cwd: str | None
    skip_on_exit_code: int | Collection[int] | None
    output_processor: Callable[[str], Any]


class BashOperator(BaseOperator):
    """Run `bash_command` with `bash -c`; the last line of its output is the XCom.

    A command that is one word and ends with `.sh` or `.bash` names a template file.
    `env` replaces the environment, but for what tells which attempt it is, or adds to it with
    `append_env`.  An exit code in `skip_on_exit_code` skips the task; any other than 0 fails it.
    `output_processor` makes the XCom of the last line, such as `json.loads`.
    """

    template_fields: ClassVar[Sequence[str]] = ("bash_command", "env", "cwd")
    template_ext: Sequence[str] = (".sh", ".bash")
    template_fields_renderers: ClassVar[Mapping[str, str]] = {"bash_command": "bash", "env": "json"}
    operator_name = "bash"

    def __init__(
        self, *, task_id: str, bash_command: str | XComArg, **options: Unpack[BashOptions]
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.bash_command = bash_command
        self.env = given.pop("env", None)
        self.append_env = given.pop("append_env", False)
        self.cwd = given.pop("cwd", None)
        codes = given.pop("skip_on_exit_code", SKIP_EXIT_CODE)
        self.output_processor: Callable[[str], Any] = given.pop("output_processor", str)
        super().__init__(task_id, **given)
        try:
            if not isinstance(bash_command, LATE):
                checks.text(bash_command, "bash_command")
            if self.env is not None and not isinstance(self.env, LATE):
                checks.mapping(self.env, "env")
            if self.cwd is not None and not isinstance(self.cwd, LATE):
                checks.text(self.cwd, "cwd")
            checks.flag(self.append_env, "append_env")
            self.skip_on_exit_code = exit_codes(codes, "skip_on_exit_code")
            if not callable(self.output_processor):
                checks.refuse("output_processor", "a function of the text", self.output_processor)
        except DagError as error:
            raise DagError(f"{self.where}: {error}") from None

    def execute(self, context: Context) -> Any:  # noqa: ARG002
        """Run the command; return what is made of the last line of its output."""
        from headway.sdk.programs.shell import run

        code, last_line = run(str(self.bash_command), self._environment(), self.cwd)
        if code in self.skip_on_exit_code:
            raise AirflowSkipException(f"The command exited with {code}, which skips the task.")
        if code < 0:
            raise AirflowException(f"The command was killed by {signal.Signals(-code).name}.")
        if code:
            raise AirflowException(f"The command exited with {code}; its output is in the log.")
        return self.output_processor(last_line)

    def _environment(self) -> dict[str, str] | None:
        if self.env is None:
            return None
        # This is what a command inherits from us, not a setting that we read.
        base = dict(os.environ) if self.append_env else inherited()  # noqa: TID251
        return base | {name: str(value) for name, value in self.env.items()}


class DecoratedBashOperator(BashOperator):
    """Call a function, then run the command that it returns."""

    not_taken = frozenset({"bash_command"})
    template_fields = ("op_args", "op_kwargs", "env", "cwd")
    template_ext = ()
    operator_name = "bash"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] = (),
        op_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(bash_command="", **options)
        self.python_callable = python_callable
        self.op_args = list(op_args)
        self.op_kwargs = dict(op_kwargs or {})

    def execute(self, context: Context) -> Any:
        """Call the function, render what it returns, and run it."""
        command = call(self.python_callable, self.op_args, self.op_kwargs, context)
        if not isinstance(command, str) or not command:
            checks.refuse(f"{self.where}: what the function returns", "a command", command)
        self.bash_command = render(command, context, f"{self.where}: the returned command")
        return super().execute(context)


def exit_codes(value: object, where: str) -> frozenset[int]:
    """Accept an exit code, several, or None; not that of success."""
    codes: Collection[int] = ()
    if isinstance(value, int):
        codes = (value,)
    elif isinstance(value, Collection) and all(isinstance(code, int) for code in value):
        codes = value
    elif value is not None:
        checks.refuse(where, "an exit code or a list of them", value)
    if 0 in codes:
        raise DagError(f"{where} holds 0, which means success; leave it out.")
    return frozenset(codes)
