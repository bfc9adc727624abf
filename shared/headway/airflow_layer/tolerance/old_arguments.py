"""Arguments that Airflow takes or took and Headway does not: what is said of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_NONE: Final = (None,)
_OFF: Final = (None, False)


@dataclass(frozen=True, slots=True)
class OldArgument:
    """An argument that the layer drops, or passes on under another name.

    `idle` are values that say nothing: they are dropped without a word. Without an `advice` any
    other value is left for the SDK, which refuses it.
    """

    advice: str | None = None
    renamed: str | None = None
    idle: tuple[Any, ...] = _NONE


def _drop(advice: str, *idle: object) -> OldArgument:
    return OldArgument(advice, idle=(None, *idle))


def _rename(new: str, *idle: object) -> OldArgument:
    return OldArgument(f"write {new}=", new, idle=(None, *idle))


def _unless(*idle: object) -> OldArgument:
    return OldArgument(idle=(None, *idle))


_DOC: Final = _drop("documentation is Markdown: write doc_md=")

OF_TASKS: Final[Mapping[str, OldArgument]] = {
    "provide_context": _drop(
        "leave it out; a function is given what its parameters name, and all of it by **context"
    ),
    "task_concurrency": _rename("max_active_tis_per_dag"),
    "max_active_tis_per_run": _rename("max_active_tis_per_dagrun"),
    "xcom_push": _rename("do_xcom_push"),
    "skip_exit_code": _rename("skip_on_exit_code"),
    "doc": _rename("doc_md"),
    "doc_json": _DOC,
    "doc_rst": _DOC,
    "doc_yaml": _DOC,
    "executor_config": _drop(
        "the pod or the machine is that of a worker: write queue=, and run workers for it", {}
    ),
    "resources": _drop("write queue=, and run workers of that size for it", {}),
    "inlets": _drop("leave it out; Headway keeps no lineage", [], ()),
    "outlets": _drop("leave it out; Headway keeps no lineage, and has no assets yet", [], ()),
    "serializer": _drop(
        "leave it out; what another Python is given, and returns, is JSON", "pickle"
    ),
    "use_dill": _drop("leave it out; what another Python is given, and returns, is JSON", False),
    "execution_date": _rename("logical_date"),
    "openlineage_inject_parent_info": _drop("leave it out; Headway keeps no lineage", True, False),
    "run_after": _unless(),
    "spark_binary": _drop(
        "leave it out; a worker runs the spark-submit of SPARK_HOME or of its pyspark",
        "spark-submit",
    ),
    "durable": _drop("leave it out; a new attempt finds the driver of the last one", True),
    "reconnect_on_retry": _drop(
        "leave it out; a new attempt finds the driver of the last one", True
    ),
    "track_driver_via_k8s_api": _drop("leave it out; Headway follows the driver", False),
    "yarn_track_via_rm_api": _drop("leave it out; Headway follows the application", False),
    "openlineage_inject_parent_job_info": _drop("leave it out; Headway keeps no lineage", False),
    "openlineage_inject_transport_info": _drop("leave it out; Headway keeps no lineage", False),
    "use_krb5ccache": _unless(False),
    "post_submit_commands": _unless([], ()),
    "properties_file": _unless(),
    "yarn_rm_auth": _unless(),
    "logger_name": _drop("leave it out; the logger is that of the class"),
    "show_return_value_in_logs": _drop("print the value in the function", False),
    "adhoc": _drop("give the task a DAG of its own, with schedule=None", False),
    "allow_nested_operators": _drop("leave it out; call functions, not operators, in a task", True),
    "overwrite_rtif_after_execution": _drop("leave it out", False),
    "priority_weight_strategy": _drop("write weight_rule="),
    "sla_miss_callback": _drop("write sla= on tasks with notify=, or deadline= on the DAG"),
    "ignore_first_depends_on_past": _drop(
        "leave it out; the first run of a schedule never waits for one before it", True
    ),
    "wait_for_past_depends_before_skipping": _unless(False),
    "wait_for_downstream": _unless(False),
    "on_failure_fail_dagrun": _unless(False),
    "run_as_user": _unless(),
    "executor": _unless(),
    "retry_policy": _unless(),
    "deferrable": _unless(False),
    "output_encoding": _unless("utf-8"),
    "output_processor": _unless(),
    "templates_dict": _unless({}),
    "templates_exts": _unless([], ()),
    "pre_execute": _unless(),
    "post_execute": _unless(),
    "task_display_name": _unless(),
    "params": _unless({}),
    "task_group": _unless(),
}
"""Those of tasks, of which default_args may have any."""

OF_DAGS: Final[Mapping[str, OldArgument]] = {
    "concurrency": _rename("max_active_tasks"),
    "default_view": _drop("leave it out; people choose the view on the page", "grid", "tree"),
    "orientation": _drop("leave it out; graphs are drawn from left to right", "LR"),
    "access_control": _drop("leave it out; rights are those of accounts (headway accounts)", {}),
    "owner_links": _drop("write the links in doc_md=", {}),
    "full_filepath": _drop("leave it out"),
    "last_loaded": _drop("leave it out"),
    "sla_miss_callback": _drop("write deadline=, with notify= for who is told"),
    "allowed_run_types": _drop("leave it out; anyone with the right may start a run"),
    "disable_bundle_versioning": _drop(
        "leave it out; a run keeps the version it began with", False
    ),
    "rerun_with_latest_version": _drop("choose the version when you clear the run", False),
    "auto_register": _unless(True),
    "fail_fast": _unless(False),
    "fail_stop": _unless(False),
    "max_consecutive_failed_dag_runs": _unless(0),
    "render_template_as_native_obj": _unless(False),
    "user_defined_macros": _unless({}),
    "user_defined_filters": _unless({}),
    "template_searchpath": _unless([], ()),
    "jinja_environment_kwargs": _unless({}),
    "dag_display_name": _unless(),
    "tags": _unless(),
    "catchup": _unless(),
    "dagrun_timeout": _unless(),
    "max_active_tasks": _unless(),
    "max_active_runs": _unless(),
    "default_args": _unless(),
    "timetable": _unless(),
}
"""Those of DAGs."""

NONE_IS_USUAL: Final = frozenset(
    {
        "depends_on_past",
        "op_args",
        "pool",
        "pool_slots",
        "priority_weight",
        "queue",
        "retries",
        "retry_delay",
        "trigger_rule",
        "weight_rule",
    }
)
"""What may be None for Airflow, which then does as if it were not given."""

TRIGGER_RULES: Final = {
    "dummy": "always",
    "none_failed_or_skipped": "none_failed_min_one_success",
}
"""Rules that have another name now."""
