"""XComs of another run: an earlier one of the DAG, or one of another DAG of its bundle."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

from headway.sdk.running.task_runtime import RunName, TaskRuntime
from headway.sdk.xcoms.codec import decode_xcom

MapIndexes: TypeAlias = int | Iterable[int] | None


class WhichRun(TypedDict, total=False):
    """Of which run XComs are pulled; by default of the task's own."""

    dag_id: str | None
    run_id: str | None
    include_prior_dates: bool


@dataclass(frozen=True, slots=True)
class OtherRun:
    """The run of that name; or if `or_earlier` the last one up to it that has what is asked for.

    `own` is the run of the task that asks.  Whether a task is mapped in another run is known only
    by what it has left there.
    """

    runtime: TaskRuntime
    own: RunName
    name: RunName
    or_earlier: bool

    @classmethod
    def named(cls, runtime: TaskRuntime, own: RunName, which: WhichRun) -> "OtherRun | None":
        """Return the run that is asked for; None for the task's own.  TypeError as of a call."""
        if unknown := which.keys() - WhichRun.__annotations__.keys():
            raise TypeError(f"xcom_pull() got an unexpected keyword argument {min(unknown)!r}")
        name = RunName(which.get("dag_id") or own.dag_id, which.get("run_id") or own.run_id)
        or_earlier = which.get("include_prior_dates", False)
        return cls(runtime, own, name, or_earlier) if or_earlier or name != own else None

    def left(
        self, task_id: str, key: str, default: Any, map_indexes: MapIndexes
    ) -> tuple[Any, bool]:
        """Return what a task left, or `default`, and whether it is a list of instances' values."""
        run_id: str | None = self.name.run_id
        if self.or_earlier:
            run_id = self.runtime.latest_run(task_id, key, self.name)
        name = None if run_id is None else RunName(self.name.dag_id, run_id)
        if isinstance(map_indexes, Iterable):
            return [self._one(name, task_id, key, default, at) for at in map_indexes], True
        if map_indexes is not None or name is None:
            return self._one(name, task_id, key, default, map_indexes or 0), False
        where = self._where(task_id, key)
        try:
            stored = self.runtime.pull_xcom(task_id, key, of=self._other(name))
        except KeyError:
            all_of = self.runtime.pull_xcoms(task_id, key, self._other(name))
            found = [decode_xcom(each, where) for each in all_of]
            return (found, True) if found else (default, False)
        return decode_xcom(stored, where), False

    def _one(
        self, name: RunName | None, task_id: str, key: str, default: Any, map_index: int
    ) -> Any:
        if name is None:
            return default
        try:
            stored = self.runtime.pull_xcom(task_id, key, map_index, self._other(name))
        except KeyError:
            return default
        return decode_xcom(stored, self._where(task_id, key))

    def _where(self, task_id: str, key: str) -> str:
        return f"The XCom {key!r} of task {task_id!r} in another run"

    def _other(self, name: RunName) -> RunName | None:
        """Return the name; None for the task's own run, for which nobody has to look."""
        return None if name == self.own else name
