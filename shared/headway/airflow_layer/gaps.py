"""Names of Airflow that have no counterpart: what each is, and what to do instead."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Gap(StrEnum):
    """Why a name of Airflow has no counterpart."""

    SENSORS = "sensors"
    DEFERRAL = "deferral"
    ASSETS = "assets"
    DATABASE = "database"
    PLUGINS = "plugins"
    XCOM_BACKENDS = "xcom_backends"
    SUBDAGS = "subdags"
    EMAIL = "email"
    HITL = "hitl"
    PRIORITY = "priority"
    ASSET_STATE = "asset_state"
    CONTAINERS = "containers"
    PROVIDER = "provider"
    RELEASE = "release"
    OTHER = "other"


class AirflowGapError(ModuleNotFoundError):
    """A name of Airflow that Headway does not have."""

    def __init__(self, sentence: str, *, name: str, gap: Gap) -> None:
        super().__init__(sentence, name=name)
        self.gap = gap


SENTENCES: Final[Mapping[Gap, str]] = {
    Gap.SENSORS: (
        "{name}: Headway has no sensors yet. Let a task fail until what it waits for is there, "
        "with retries and retry_delay."
    ),
    Gap.DEFERRAL: (
        "{name}: Headway has no deferrable operators and no triggers yet. Wait inside the task, or "
        "let it fail until the work is done, with retries and retry_delay."
    ),
    Gap.ASSETS: (
        "{name}: Headway has no assets yet. Give the DAG a schedule by time, or have the DAG "
        "before it start it with TriggerDagRunOperator."
    ),
    Gap.DATABASE: (
        "{name}: Headway's tasks have no access to the database. Use the context (ti, dag_run, "
        "prev_data_interval_start_success), or ask the API."
    ),
    Gap.PLUGINS: (
        "{name}: Headway has no plugins. Register a timetable of your own as docs/timetables.md "
        "says; put what DAG files share into a module of the bundle."
    ),
    Gap.XCOM_BACKENDS: (
        "{name}: Headway stores XComs in its database, and a task reaches them by "
        "ti.xcom_pull and ti.xcom_push. Write large values to a file or a table, and return its "
        "name."
    ),
    Gap.SUBDAGS: "{name}: Headway has no SubDAGs, and nor has Airflow 3. Write a TaskGroup.",
    Gap.EMAIL: (
        "{name}: Headway has nothing of that name. A task sends mail by EmailOperator or "
        "airflow.utils.email.send_email; email= of tasks, and notify=Notifier(…) of tasks and the "
        "DAG, tell of failures."
    ),
    Gap.HITL: (
        "{name}: Headway has no operator that waits for a person. Let a second DAG go on, which "
        "that person triggers with params."
    ),
    Gap.PRIORITY: (
        "{name}: Headway has no weight rules of one's own. Pass priority_weight, with weight_rule "
        "downstream, upstream or absolute."
    ),
    Gap.ASSET_STATE: (
        "{name}: Headway has no assets yet, and so no store for their state. Keep what the retries "
        "of one task need in task_state_store; write what other runs need to a file or a table of "
        "your own."
    ),
    Gap.CONTAINERS: (
        "{name}: Headway starts no container for a task. Give the task a queue=, and run workers "
        "with that image for it; or start the container inside a @task.bash."
    ),
    Gap.PROVIDER: (
        "{name}: this provider package is not installed here. Install it where DAG files are "
        "parsed and tasks are run: headway providers install {package}."
    ),
    Gap.RELEASE: (
        "{name}: {package} {version} is installed here, and has nothing of that name. Its "
        "changelog says what has taken the place of what it has dropped: write that; or install a "
        "release that has it: headway providers install {package}==…."
    ),
    Gap.OTHER: (
        "{name}: Headway has nothing of that name. docs/from-airflow.md lists what it has; write "
        "this part with headway.sdk, or inside a @task."
    ),
}

_NAMES: Final[Mapping[Gap, str]] = {
    Gap.SENSORS: (
        "BaseSensorOperator PokeReturnValue BaseSensor ExternalTaskSensor ExternalTaskMarker "
        "PythonSensor FileSensor BashSensor DateTimeSensor DateTimeSensorAsync TimeSensor "
        "TimeSensorAsync TimeDeltaSensor TimeDeltaSensorAsync DayOfWeekSensor SqlSensor sensor "
        "poke_mode_only sensor_task_factory"
    ),
    Gap.DEFERRAL: (
        "BaseTrigger TriggerEvent BaseEventTrigger TaskDeferred StartTriggerArgs "
        "TriggerFailureReason BaseAsyncOperator TaskDeferralError TaskDeferralTimeout "
        "ResumableJobMixin deferrable"
    ),
    Gap.ASSETS: (
        "Asset AssetAlias AssetAll AssetAny AssetWatcher AssetOrTimeSchedule AssetAccessControl "
        "AssetRef AssetEvent asset Metadata Dataset DatasetAlias DatasetAll DatasetAny "
        "DatasetEvent DatasetOrTimeSchedule DatasetModel AssetModel PartitionedAssetTimetable "
        "PartitionedAtRuntime CronPartitionTimetable PartitionMapper AllowedKeyMapper ChainMapper "
        "FanOutMapper FixedKeyMapper IdentityMapper ProductMapper RollupMapper StartOfDayMapper "
        "StartOfHourMapper StartOfMonthMapper StartOfQuarterMapper StartOfWeekMapper "
        "StartOfYearMapper Window DayWindow HourWindow MonthWindow QuarterWindow SegmentWindow "
        "WeekWindow YearWindow MinimumCount WaitForAll"
    ),
    Gap.DATABASE: (
        "Session provide_session create_session DagModel DagBag DagTag SlaMiss TaskReschedule "
        "TaskFail Pool clear_task_instances engine Log SerializedDagModel "
        "TaskInstanceKey"
    ),
    Gap.PLUGINS: "AirflowPlugin hookimpl Timetable",
    Gap.XCOM_BACKENDS: "BaseXCom XCom",
    Gap.SUBDAGS: "SubDagOperator",
    Gap.EMAIL: "send_mime_email SmtpNotifier",
    Gap.HITL: "ApprovalOperator HITLBranchOperator HITLEntryOperator HITLOperator",
    Gap.PRIORITY: "PriorityWeightStrategy",
    Gap.ASSET_STATE: "asset_state_store AssetStateStoreAccessor AssetStateStoreAccessors",
    Gap.CONTAINERS: "docker docker_task kubernetes kubernetes_task kubernetes_cmd",
}

_MODULES: Final[Mapping[str, Gap]] = {
    "airflow.sensors": Gap.SENSORS,
    "airflow.sdk.bases.sensor": Gap.SENSORS,
    "airflow.providers.standard.sensors": Gap.SENSORS,
    "airflow.triggers": Gap.DEFERRAL,
    "airflow.sdk.triggers": Gap.DEFERRAL,
    "airflow.providers.standard.triggers": Gap.DEFERRAL,
    "airflow.assets": Gap.ASSETS,
    "airflow.datasets": Gap.ASSETS,
    "airflow.partition_mappers": Gap.ASSETS,
    "airflow.sdk.definitions.asset": Gap.ASSETS,
    "airflow.timetables.assets": Gap.ASSETS,
    "airflow.timetables.datasets": Gap.ASSETS,
    "airflow.plugins_manager": Gap.PLUGINS,
    "airflow.example_dags.plugins": Gap.PLUGINS,
    "airflow.listeners": Gap.PLUGINS,
    "airflow.utils.email": Gap.EMAIL,
    "airflow.utils.session": Gap.DATABASE,
    "airflow.utils.db": Gap.DATABASE,
    "airflow.operators.subdag": Gap.SUBDAGS,
    "airflow.operators.subdag_operator": Gap.SUBDAGS,
    "airflow.operators.sensors": Gap.SENSORS,
    "airflow.contrib.sensors": Gap.SENSORS,
    "airflow.providers.standard.operators.hitl": Gap.HITL,
    "airflow.task.priority_strategy": Gap.PRIORITY,
    "airflow.jobs": Gap.DATABASE,
    "airflow.api": Gap.DATABASE,
    "airflow.models.xcom": Gap.XCOM_BACKENDS,
    "airflow.models": Gap.DATABASE,
}

_GAP_OF: Final = {name: gap for gap, names in _NAMES.items() for name in names.split()}


def error_of(module: str, name: str | None = None, *, of: str | None = None) -> AirflowGapError:
    """Return the error of a name that a module of Airflow has and Headway has not.

    It is missing like the name `of`, where that is known better.
    """
    whole = module if name is None else f"{module}.{name}"
    gap, package = _gap(whole, of or name), package_of(whole)
    installed = version_of(package) if gap is Gap.PROVIDER else None
    if installed is not None:
        gap = Gap.RELEASE
    sentence = SENTENCES[gap].format(name=whole, package=package, version=installed)
    return AirflowGapError(sentence, name=whole, gap=gap)


def _gap(whole: str, name: str | None) -> Gap:
    if name in _GAP_OF:
        return _GAP_OF[name]
    above = whole
    while above:
        if above in _MODULES:
            return _MODULES[above]
        above = above.rpartition(".")[0]
    return Gap.PROVIDER if _is_of_provider(whole) else Gap.OTHER


def _is_of_provider(whole: str) -> bool:
    begin = "airflow.providers."
    return whole.startswith(begin) and not whole.startswith(f"{begin}standard")


def package_of(whole: str) -> str:
    """Return the distribution of a provider's module, as well as its name tells."""
    parts = whole.split(".")[2:]
    groups = ("apache", "atlassian", "cncf", "common", "dbt", "microsoft")
    length = 2 if parts and parts[0] in groups else 1
    return "-".join(["apache-airflow-providers", *parts[:length]])


def version_of(package: str) -> str | None:
    """Return which version of a distribution is installed here, if one is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
