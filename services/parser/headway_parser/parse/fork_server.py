"""The fork server of a parser: how it and its children are started.

It takes as long to start as the parser itself, so it is begun with, and little is imported here.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headway.domain.errors import SettingsError
from headway.runtime.forker import ChildLimits, ChildSpec, Forker
from headway.runtime.sandbox import Sandbox
from headway.runtime.secrets.scrub import scrubbed_environment
from headway.runtime.settings.parser import ParserSettings

if TYPE_CHECKING:
    from headway_parser.parse.jobs import Job

PRELOAD: Final = ("headway_parser.child.preload",)

CHILD: Final = "headway_parser.child.parse_file:parse"
"""What children do, by its name: nothing of that is imported into the parser itself."""

ASKED: Final = "asked"
REFUSED: Final = "refused"
"""What becomes of a connection or a variable that a file reads, as `child.asking` knows it."""

NICENESS: Final = 10
"""How far children stand back: what runs on the same machine is more urgent than they are."""


@dataclass(frozen=True, slots=True)
class ParserHost:
    """What a parser finds on its machine: its folder for state, and its environment."""

    home: Path
    hidden: tuple[Path, ...]
    environment: Mapping[str, str]


def start(given: ParserSettings, around: ParserHost) -> Forker:
    """Start a fork server, or connect to the one that the settings name, and wait for it."""
    readable = [str(folder) for folder in _named(given) if folder.is_dir()]
    sandbox = _sandbox(readable, given, around)
    if given.forker is not None:
        return Forker.connect(given.forker, sandbox=sandbox)
    return Forker.start(PRELOAD, scrubbed_environment(around.environment), sandbox=sandbox)


def child_of(job: "Job", given: ParserSettings, around: ParserHost) -> ChildSpec:
    """Return what a child is to do to parse a file."""
    bundle = given.sources[job.key.bundle]
    return ChildSpec(
        target=CHILD,
        argument={
            "root": str(job.root),
            "path": job.key.path,
            "bundle": job.key.bundle,
            "cron_semantics": bundle.cron_semantics,
            "secrets": ASKED if bundle.parse_time_secrets else REFUSED,
            "airflow_layer": str(given.airflow_layer),
        },
        limits=ChildLimits(
            address_space_bytes=given.dag_file_memory_limit_bytes, niceness=NICENESS
        ),
        sandbox=_sandbox([str(job.root)], given, around),
    )


def folders_of(given: ParserSettings) -> list[Path]:
    """Return the folders to be watched; SettingsError when one is not there at the start."""
    folders = _named(given)
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(
                f"There is no DAGs folder {folder}; create it, or name another one "
                "by HEADWAY_PARSER_DAGS."
            )
    return folders


def is_other_user(given: ParserSettings) -> bool:
    """Whether DAG files are read by another account than this process's."""
    return os.geteuid() == 0 and given.parse_user != "root"


def _named(given: ParserSettings) -> list[Path]:
    return [bundle.path.absolute() for bundle in given.sources.values() if bundle.path is not None]


def _sandbox(readable: list[str], given: ParserSettings, around: ParserHost) -> Sandbox:
    return Sandbox(
        readable=(*readable, *given.readable_paths),
        hidden=tuple(map(str, around.hidden)),
        network=given.parse_network,
        user=given.parse_user,
    )
