"""What a DAG file imports: `from headway.sdk import DAG, dag, task, …`.

Names are imported when they are first asked for, so that a DAG file pays only for
what it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from headway.domain.connection import Connection
    from headway.domain.dag.trigger_rules import TriggerRule
    from headway.domain.dag.weights import WeightRule
    from headway.sdk.authoring.deadlines import DeadlineAlert, DeadlineReference
    from headway.sdk.authoring.definition import DAG, dag
    from headway.sdk.authoring.dependencies import (
        EdgeModifier,
        Label,
        chain,
        chain_linear,
        cross_downstream,
    )
    from headway.sdk.authoring.groups.group_decorator import task_group
    from headway.sdk.authoring.groups.task_group import TaskGroup
    from headway.sdk.authoring.notifiers import Notifier
    from headway.sdk.authoring.operator import BaseOperator
    from headway.sdk.authoring.python_operator import PythonOperator
    from headway.sdk.authoring.xcom_arg import XComArg
    from headway.sdk.context.literals import literal
    from headway.sdk.context.secrets import BaseHook, Variable
    from headway.sdk.operators.bash import BashOperator
    from headway.sdk.operators.branch import (
        BaseBranchOperator,
        BranchPythonOperator,
        ShortCircuitOperator,
        SkipMixin,
    )
    from headway.sdk.operators.by_date import (
        BranchDateTimeOperator,
        BranchDayOfWeekOperator,
        WeekDay,
    )
    from headway.sdk.operators.decorators import setup, task, teardown
    from headway.sdk.operators.email import EmailOperator
    from headway.sdk.operators.empty import EmptyOperator
    from headway.sdk.operators.latest_only import LatestOnlyOperator
    from headway.sdk.operators.spark_sql import SparkSQLOperator
    from headway.sdk.operators.spark_submit import SparkSubmitOperator
    from headway.sdk.operators.trigger_dagrun import TriggerDagRunOperator
    from headway.sdk.operators.virtualenv import (
        BranchExternalPythonOperator,
        BranchPythonVirtualenvOperator,
        ExternalPythonOperator,
        PythonVirtualenvOperator,
    )
    from headway.sdk.running.context import Context, get_current_context
    from headway.sdk.running.dag_param import DagParam
    from headway.sdk.running.retry_policy import (
        ExceptionRetryPolicy,
        RetryAction,
        RetryDecision,
        RetryPolicy,
        RetryRule,
    )
    from headway.sdk.storage.path import ObjectStoragePath
    from headway.sdk.values.params import Param
    from headway.sdk.values.state_store import NEVER_EXPIRE
    from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
    from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
    from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
    from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
    from headway.timetables.kinds.events import EventsTimetable
    from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
    from headway.timetables.kinds.simple import (
        Continuous,
        ContinuousTimetable,
        Null,
        NullTimetable,
        Once,
        OnceTimetable,
    )
    from headway.timetables.kinds.solar import Sunrise, Sunset
    from headway.timetables.kinds.wrapped import Delayed, RollingWindow

__all__ = [
    "DAG",
    "NEVER_EXPIRE",
    "BaseBranchOperator",
    "BaseHook",
    "BaseOperator",
    "BashOperator",
    "BranchDateTimeOperator",
    "BranchDayOfWeekOperator",
    "BranchExternalPythonOperator",
    "BranchPythonOperator",
    "BranchPythonVirtualenvOperator",
    "Connection",
    "Context",
    "Continuous",
    "ContinuousTimetable",
    "CronTimetable",
    "DagParam",
    "DataTimetable",
    "Days",
    "DeadlineAlert",
    "DeadlineReference",
    "Delayed",
    "EdgeModifier",
    "EmailOperator",
    "EmptyOperator",
    "EventsTimetable",
    "ExceptionRetryPolicy",
    "ExternalPythonOperator",
    "Holidays",
    "Hours",
    "Label",
    "LastWorkdayOnOrBefore",
    "LatestOnlyOperator",
    "Minutes",
    "Months",
    "MultipleCronTimetable",
    "Notifier",
    "Null",
    "NullTimetable",
    "ObjectStoragePath",
    "Once",
    "OnceTimetable",
    "Param",
    "PeriodTimetable",
    "PythonOperator",
    "PythonVirtualenvOperator",
    "RetryAction",
    "RetryDecision",
    "RetryPolicy",
    "RetryRule",
    "RollingWindow",
    "ShortCircuitOperator",
    "SkipMixin",
    "SparkSQLOperator",
    "SparkSubmitOperator",
    "Sunrise",
    "Sunset",
    "TaskGroup",
    "TimeDeltaTimetable",
    "TradingDays",
    "TriggerDagRunOperator",
    "TriggerRule",
    "Variable",
    "WeekDay",
    "Weekdays",
    "WeightRule",
    "Workdays",
    "XComArg",
    "chain",
    "chain_linear",
    "cross_downstream",
    "dag",
    "get_current_context",
    "literal",
    "setup",
    "task",
    "task_group",
    "teardown",
]

_HOMES: Final = {
    "headway.domain.connection": ("Connection",),
    "headway.domain.dag.trigger_rules": ("TriggerRule",),
    "headway.domain.dag.weights": ("WeightRule",),
    "headway.sdk.running.context": ("Context", "get_current_context"),
    "headway.sdk.authoring.deadlines": ("DeadlineAlert", "DeadlineReference"),
    "headway.sdk.operators.decorators": ("setup", "task", "teardown"),
    "headway.sdk.authoring.definition": ("DAG", "dag"),
    "headway.sdk.authoring.dependencies": (
        "EdgeModifier",
        "Label",
        "chain",
        "chain_linear",
        "cross_downstream",
    ),
    "headway.sdk.authoring.groups.group_decorator": ("task_group",),
    "headway.sdk.authoring.groups.task_group": ("TaskGroup",),
    "headway.sdk.authoring.notifiers": ("Notifier",),
    "headway.sdk.authoring.operator": ("BaseOperator",),
    "headway.sdk.operators.bash": ("BashOperator",),
    "headway.sdk.operators.branch": (
        "BaseBranchOperator",
        "BranchPythonOperator",
        "ShortCircuitOperator",
        "SkipMixin",
    ),
    "headway.sdk.operators.by_date": (
        "BranchDateTimeOperator",
        "BranchDayOfWeekOperator",
        "WeekDay",
    ),
    "headway.sdk.operators.email": ("EmailOperator",),
    "headway.sdk.operators.empty": ("EmptyOperator",),
    "headway.sdk.operators.latest_only": ("LatestOnlyOperator",),
    "headway.sdk.authoring.python_operator": ("PythonOperator",),
    "headway.sdk.operators.spark_sql": ("SparkSQLOperator",),
    "headway.sdk.operators.spark_submit": ("SparkSubmitOperator",),
    "headway.sdk.operators.trigger_dagrun": ("TriggerDagRunOperator",),
    "headway.sdk.operators.virtualenv": (
        "BranchExternalPythonOperator",
        "BranchPythonVirtualenvOperator",
        "ExternalPythonOperator",
        "PythonVirtualenvOperator",
    ),
    "headway.sdk.context.literals": ("literal",),
    "headway.sdk.context.secrets": ("BaseHook", "Variable"),
    "headway.sdk.authoring.xcom_arg": ("XComArg",),
    "headway.sdk.running.dag_param": ("DagParam",),
    "headway.sdk.storage.path": ("ObjectStoragePath",),
    "headway.sdk.values.params": ("Param",),
    "headway.sdk.values.state_store": ("NEVER_EXPIRE",),
    "headway.sdk.running.retry_policy": (
        "ExceptionRetryPolicy",
        "RetryAction",
        "RetryDecision",
        "RetryPolicy",
        "RetryRule",
    ),
    "headway.timetables.kinds.boolean": ("Days", "Hours", "Minutes", "Months", "Weekdays"),
    "headway.timetables.kinds.cron": ("CronTimetable", "DataTimetable", "MultipleCronTimetable"),
    "headway.timetables.kinds.days": ("Holidays", "TradingDays", "Workdays"),
    "headway.timetables.kinds.paydays": ("LastWorkdayOnOrBefore",),
    "headway.timetables.kinds.delta": ("PeriodTimetable", "TimeDeltaTimetable"),
    "headway.timetables.kinds.events": ("EventsTimetable",),
    "headway.timetables.kinds.simple": (
        "Continuous",
        "ContinuousTimetable",
        "Null",
        "NullTimetable",
        "Once",
        "OnceTimetable",
    ),
    "headway.timetables.kinds.solar": ("Sunrise", "Sunset"),
    "headway.timetables.kinds.wrapped": ("Delayed", "RollingWindow"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
