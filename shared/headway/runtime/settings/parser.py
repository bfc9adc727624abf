"""The settings of the parser service."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from headway.domain.dag.cron_semantics import CronSemantics
from headway.runtime.settings.bundles import Bundles, BundleSettings, checked_name
from headway.runtime.settings.configuration import HttpPort, Names, Seconds, Settings
from headway.runtime.settings.layer_use import LAYER_USE, LayerUse


class SortMode(StrEnum):
    """In which order the files that are due are parsed."""

    MODIFIED_TIME = "modified_time"
    ALPHABETICAL = "alphabetical"
    RANDOM = "random"


class ParserSettings(Settings):
    """The parser service."""

    section = "parser"

    dags: Path = Field(Path("dags"), description="The folder that holds the DAG files.")
    bundle: Annotated[str, AfterValidator(checked_name)] = Field(
        "dags", description="The bundle name of that folder."
    )
    bundles: Bundles = Field(
        {},
        description="Further bundles by name, in the environment as JSON. Each has a "
        "`path`, or `git` (URL) with `ref`, `subdir` and `refresh_interval` "
        "(seconds); see bundles.md. If there are any, the folder above is a bundle "
        "only if `dags` is set as well.",
    )
    cron_semantics: CronSemantics | None = Field(
        None,
        description="What `ds` is in a DAG whose schedule is a cron string or a preset: `interval` "
        "(the start of the interval that the run is about) or `trigger` (the time of the run). "
        "The `cron_semantics` of a bundle and of a DAG overrides it. Without any of them it is "
        "`interval`, and files that import airflow have a warning.",
    )
    parse_time_secrets: bool = Field(
        False,
        description="Whether DAG files may read connections and variables at their top level, "
        "while they are parsed: those that are granted to their bundle. The `parse_time_secrets` "
        "of a bundle overrides it. The parser then needs the keys of `HEADWAY_SECRETS_KEYS`.",
    )
    airflow_layer: LayerUse = Field(LayerUse.AUTO, description=LAYER_USE)
    watch_files: bool = Field(
        True,
        description="Whether events of the file system tell the parser of changes. The "
        "parser lists the files in either case.",
    )
    dag_dir_list_interval: Seconds = Field(
        5.0, description="Seconds between two listings of a bundle's files."
    )
    safe_mode: bool = Field(
        True,
        description='Whether only files count as DAG files that mention "dag", and "headway" or '
        '"airflow".',
    )
    parsing_processes: int = Field(
        2,
        ge=1,
        description="Files that are parsed at a time. While some of them take longer "
        "than a second, up to twice as many files are parsed.",
    )
    file_parsing_sort_mode: SortMode = Field(
        SortMode.MODIFIED_TIME,
        description="Order in which files are parsed: modified_time (latest change "
        "first), alphabetical, or random.",
    )
    min_file_process_interval: Seconds = Field(
        30.0,
        description="Seconds between two parses of an unchanged file that has a DAG with "
        "`dynamic=True`. Also the time from the parse of a changed file until the parser "
        "parses that file once more, to see whether it gives the same DAGs each time.",
    )
    unchanged_file_process_interval: Seconds = Field(
        3600.0,
        description="Seconds between two parses of any other unchanged file.",
    )
    dag_file_processor_timeout: Seconds = Field(
        50.0, description="Seconds that parsing one file may take."
    )
    dag_file_memory_limit_bytes: int = Field(
        2 * 2**30,
        ge=64 * 2**20,
        description="Bytes of address space that parsing one file may take.",
    )
    preload_imports: bool = Field(
        True,
        description="Whether a process for each bundle imports once the installed packages that "
        "files of the bundle import, and forks their parses; see isolation.md.",
    )
    preload_idle_timeout: Seconds = Field(
        7200.0,
        description="Seconds after which that process of a bundle ends if it has parsed no file.",
    )
    max_parse_output_bytes: int = Field(
        2**20,
        ge=1024,
        description="Bytes of a file's output that are kept when the file is parsed.",
    )
    max_parse_answer_bytes: int = Field(
        96 * 2**20,
        ge=2**20,
        description="Bytes of DAGs and code that the parse of one file may return.",
    )
    parse_network: bool = Field(
        False, description="Whether DAG files may open network connections while they are parsed."
    )
    parse_user: str = Field(
        "nobody",
        min_length=1,
        description="Account under which DAG files are parsed, if the parser runs as root.",
    )
    readable_paths: Names = Field(
        (),
        description="Folders that DAG files may read while they are parsed, besides their bundle.",
    )
    forker: Path | None = Field(
        None,
        description="Unix socket of a fork server in another container. Without it, "
        "the service starts a fork server of its own.",
    )
    dags_are_paused_at_creation: bool = Field(False, description="Whether a new DAG starts paused.")
    version_retention_days: float = Field(
        90.0,
        ge=0,
        allow_inf_nan=False,
        description="Days for which a DAG version is kept after it was last in force. "
        "A version stays longer while a run refers to it.",
    )
    versions_to_keep: int = Field(
        10, ge=1, description="Newest versions of each DAG that are kept at any age."
    )
    retention_interval: Seconds = Field(
        3600.0, description="Seconds between two removals of old DAG versions."
    )
    http_port: HttpPort = 0
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two heartbeats.")
    health_check_threshold: Seconds = Field(
        15.0,
        description="Seconds without a heartbeat after which other parsers take over "
        "the files that a parser has claimed.",
    )

    @cached_property
    def sources(self) -> Mapping[str, BundleSettings]:
        """Every bundle by name, that of the folder included where it counts."""
        found = dict(self.bundles)
        if not self.bundles or self._folder_counts:
            found = {self.bundle: BundleSettings(path=self.dags), **found}
        return {name: self._completed(bundle) for name, bundle in found.items()}

    def _completed(self, bundle: BundleSettings) -> BundleSettings:
        """Return a bundle with the parser's settings where it has none of its own."""
        semantics, secrets = bundle.cron_semantics, bundle.parse_time_secrets
        its = {
            "cron_semantics": semantics or self.cron_semantics,
            "parse_time_secrets": self.parse_time_secrets if secrets is None else secrets,
        }
        return bundle.model_copy(update=its)

    @property
    def reads_secrets(self) -> bool:
        """Whether files of any bundle may read connections and variables while they are parsed."""
        return any(bundle.parse_time_secrets for bundle in self.sources.values())

    def bundle_at(self, path: Path) -> BundleSettings | None:
        """Return the bundle whose folder holds that absolute path; None where none does."""
        for bundle in self.sources.values():
            if bundle.path is not None and path.is_relative_to(bundle.path.absolute()):
                return bundle
        return None

    def semantics_at(self, path: Path) -> CronSemantics | None:
        """Return what cron strings mean in a file at that absolute path, in a bundle or not."""
        bundle = self.bundle_at(path)
        return self.cron_semantics if bundle is None else bundle.cron_semantics

    @property
    def _folder_counts(self) -> bool:
        return "dags" in self.model_fields_set

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self._folder_counts and self.bundle in self.bundles:
            raise ValueError(
                f"two bundles are called {self.bundle!r}: the folder {self.dags}, and one of "
                "bundles. Rename one (HEADWAY_PARSER_BUNDLE names the folder's), or leave out dags."
            )
        if self.health_check_threshold < 3 * self.heartbeat_interval:
            raise ValueError(
                "health_check_threshold must be at least three times heartbeat_interval "
                f"({self.heartbeat_interval:g} s), or live parsers would lose their files."
            )
        return self
