"""Settings: one model for each part, read here and passed down as plain values.

A value comes from the environment (`HEADWAY_SCHEDULER_PARALLELISM=64`), else from
the TOML file that `HEADWAY_CONFIG` names (default `$HEADWAY_HOME/headway.toml`,
section `[scheduler]`), else from the default below.  docs/settings.md is made of
these models.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic.functional_validators import BeforeValidator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from headway.domain.errors import SettingsError


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Seconds = Annotated[float, Field(gt=0)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
S = TypeVar("S", bound="Settings")


class Settings(BaseSettings):
    """The base of all settings: frozen, and strict about names that nobody knows."""

    section: ClassVar[str]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values given in code first, then the environment, then the file."""
        section = InitSettingsSource(settings_cls, dict(_section(cls.section)))
        return init_settings, env_settings, section


class DatabaseSettings(Settings):
    """Where the state is kept."""

    section = "database"
    model_config = SettingsConfigDict(env_prefix="HEADWAY_DATABASE_", frozen=True, extra="forbid")

    url: str | None = Field(None, description="`postgresql://user:password@host:port/name`.")


class ParserSettings(Settings):
    """The parser service."""

    section = "parser"
    model_config = SettingsConfigDict(env_prefix="HEADWAY_PARSER_", frozen=True, extra="forbid")

    dags: Path = Field(Path("dags"), description="The folder that holds the DAG files.")
    bundle: str = Field("dags", description="The name under which that folder is known.")
    dag_dir_list_interval: Seconds = Field(
        1.0, description="Seconds between two listings of the folder."
    )
    parsing_processes: int = Field(2, ge=1, description="Files that are parsed at a time.")
    dag_file_processor_timeout: Seconds = Field(
        50.0, description="Seconds that parsing one file may take."
    )
    dags_are_paused_at_creation: bool = Field(
        False, description="Whether a DAG that is new starts paused."
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two heartbeats.")


class SchedulerSettings(Settings):
    """The scheduler service."""

    section = "scheduler"
    model_config = SettingsConfigDict(env_prefix="HEADWAY_SCHEDULER_", frozen=True, extra="forbid")

    max_dagruns_to_create_per_loop: int = Field(
        10, ge=1, description="DAGs that one pass of create_runs locks."
    )
    max_dagruns_per_loop_to_schedule: int = Field(
        50, ge=1, description="Runs that one pass of start_runs or schedule_tasks locks."
    )
    max_tis_per_query: int = Field(
        256, ge=1, description="Task instances that one pass of queue_tasks queues in a pool."
    )
    scheduler_idle_sleep_time: Seconds = Field(
        0.1, description="Seconds to wait after a loop that found nothing to do."
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two heartbeats.")
    scheduler_health_check_threshold: Seconds = Field(
        15.0, description="Seconds without a heartbeat after which a process counts as dead."
    )
    orphaned_tasks_check_interval: Seconds = Field(
        2.0, description="Seconds between two looks for dead processes and expired leases."
    )
    lease_grace: float = Field(
        5.0, ge=0, description="Seconds past a lease's end after which its attempt is lost."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.scheduler_health_check_threshold < 3 * self.heartbeat_interval:
            raise ValueError(
                "scheduler_health_check_threshold must be at least three times "
                f"heartbeat_interval ({self.heartbeat_interval:g} s), or live processes would be "
                "declared dead."
            )
        return self


class WorkerSettings(Settings):
    """The worker service."""

    section = "worker"
    model_config = SettingsConfigDict(env_prefix="HEADWAY_WORKER_", frozen=True, extra="forbid")

    slots: int = Field(8, ge=1, description="Attempts that run at a time.")
    queues: Names = Field(("default",), description="Queues to take attempts from.")
    poll_interval: Seconds = Field(0.1, description="Seconds between two looks for work.")
    lease_duration: Seconds = Field(
        20.0, description="Seconds for which a claim or a renewal holds."
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two renewals.")
    kill_grace: float = Field(
        5.0, ge=0, description="Seconds between SIGTERM and SIGKILL for a task that must stop."
    )
    drain_grace: float = Field(
        30.0, ge=0, description="Seconds that running attempts get when the worker stops."
    )
    max_log_bytes: int = Field(
        10 * 2**20, ge=1024, description="Bytes of log kept for one attempt."
    )
    max_xcom_bytes: int = Field(2**20, ge=64, description="Bytes of JSON in one XCom.")
    spark_master: str = Field("local[2]", description="Master of the embedded Spark.")
    spark_driver_memory: str = Field("1g", description="Driver memory of the embedded Spark.")
    spark_java_options: str = Field(
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        description="Java options of the embedded Spark, by default for a quick start; "
        "make it empty for heavy work.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lease_duration < 3 * self.heartbeat_interval + self.kill_grace:
            raise ValueError(
                "lease_duration must be at least three times heartbeat_interval plus kill_grace "
                f"({3 * self.heartbeat_interval + self.kill_grace:g} s), or a worker could not "
                "stop its attempts before they are given away."
            )
        return self


def home() -> Path:
    """Return the folder where local state is kept: HEADWAY_HOME, else `.headway` here."""
    return Path(os.environ.get("HEADWAY_HOME") or ".headway").absolute()


def make_home(folder: Path) -> Path:
    """Return a folder for state, made if it was absent; SettingsError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        problem = None if os.access(folder, os.W_OK | os.X_OK) else "it is not this account's"
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise SettingsError(
            f"No state can be kept in {folder}: {problem}. Set HEADWAY_HOME to a folder that "
            "this account may write to."
        )
    return folder


def environment() -> Mapping[str, str]:
    """Return the environment of this process, to find programs by and to hand on."""
    return dict(os.environ)


def read(settings: type[S], **overrides: object) -> S:
    """Return the settings of that kind; values of None are not overrides.

    Raises SettingsError naming the variable to mend.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return settings(**given)
    except ValidationError as error:
        lines = [_explain(settings, problem) for problem in error.errors()]
        raise SettingsError("\n".join(lines)) from error


def defaults(settings: type[Settings], values: Mapping[str, object]) -> dict[str, str]:
    """Return variables that give `values` to what neither environment nor file sets.

    Raises SettingsError when what is set makes no sense, alone or together with them.
    """
    names = {name: _variable(settings, name) for name in values}
    set_in_file = _section(settings.section)
    free = {
        name: value
        for name, value in values.items()
        if names[name] not in os.environ and name not in set_in_file
    }
    read(settings, **free)
    return {names[name]: str(value) for name, value in free.items()}


@cache
def config_file() -> Mapping[str, object]:
    """Return the TOML file's content; nothing when there is none."""
    named = os.environ.get("HEADWAY_CONFIG")
    path = Path(named) if named else home() / "headway.toml"
    try:
        if path.is_file():
            return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}. Let this account read it, or set "
            "HEADWAY_HOME to a folder of its own."
        ) from error
    if named:
        raise SettingsError(f"HEADWAY_CONFIG names {path}, which is no file.")
    return {}


def _section(name: str) -> Mapping[str, object]:
    section = config_file().get(name, {})
    if not isinstance(section, Mapping):
        raise SettingsError(f"{name} must be a section of the TOML file: write [{name}].")
    return section


def _explain(settings: type[Settings], problem: Mapping[str, object]) -> str:
    location = problem["loc"]
    assert isinstance(location, tuple)
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not location:
        return f"[{settings.section}] {message}"
    variable = _variable(settings, str(location[0]))
    if settings is DatabaseSettings:  # what was given may be a password
        return f"{variable}: {message}."
    return f"{variable}: {message} (given: {problem.get('input')!r})."


def _variable(settings: type[Settings], name: str) -> str:
    return f"{settings.model_config.get('env_prefix', '')}{name}".upper()
