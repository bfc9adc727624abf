"""The parts of a parser, put together from its settings."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Final

from headway import __version__
from headway.daemon import Registered
from headway.db import processes
from headway.db.notices import PARSER
from headway.domain.errors import SettingsError
from headway.runtime.bell import Bell
from headway.runtime.clock import Clock
from headway.runtime.forker import ChildSpec, Forker, Limits
from headway.runtime.parser_settings import ParserSettings
from headway.runtime.sandbox import Sandbox
from headway.runtime.scrub import scrubbed_environment
from headway.serialization.codec import FORMAT_VERSION
from headway_parser import child
from headway_parser.bundles import FolderBundle, open_bundles
from headway_parser.clerk import Clerk
from headway_parser.contents import Contents
from headway_parser.jobs import Job
from headway_parser.listing import Lister
from headway_parser.manager import DagFileProcessorManager
from headway_parser.pace import Pace
from headway_parser.parsing import Parsing
from headway_parser.processor import Bounds
from headway_parser.refresh import Refresher
from headway_parser.retention import Retention
from headway_parser.shelf import Shelf
from headway_parser.sources import Folder, Source
from headway_parser.storing import Store
from headway_parser.survey import Survey
from headway_parser.watching import Watcher

PRELOAD: Final = ("headway_parser.preload",)

NICENESS: Final = 10
"""How far children stand back: what runs on the same machine is more urgent than they are."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a parser finds on its machine: its folder for state, and its environment."""

    home: Path
    hidden: tuple[Path, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kit:
    """What the parts of one parser share; `ask` has it look at its files at once."""

    process: Registered
    given: ParserSettings
    around: Surroundings
    clock: Clock
    ask: Callable[[], None]


@contextmanager
def assembled(
    process: Registered, given: ParserSettings, around: Surroundings, parsing: Parsing, bell: Bell
) -> Iterator[DagFileProcessorManager]:
    """Give a manager of the bundles that the settings name, for as long as the context lasts."""
    asked = Event()

    def ask() -> None:
        asked.set()
        bell.ring()

    kit = Kit(process, given, around, parsing.clock, ask)
    with process.engine.begin() as conn:
        processes.serve(conn, process.me, sorted(given.sources))
    process.listen({PARSER: ask})
    with ExitStack() as ending:
        sources = dict(_sources(kit))
        for source in sources.values():
            ending.callback(source.close)
        manager = _manager(kit, sources, parsing, asked)
        if given.watch:
            watcher = Watcher(ask)
            ending.callback(watcher.close)
            manager.survey.watch = watcher.watch
        ending.callback(manager.close)
        yield manager


def _sources(kit: Kit) -> Iterator[tuple[str, Source]]:
    around, process = kit.around, kit.process
    for bundle in open_bundles(kit.given, around.home, around.environment):
        if isinstance(bundle, FolderBundle):
            yield bundle.name, Folder(bundle)
        else:
            refresher = Refresher(process.engine, process.me, bundle, kit.clock, kit.ask)
            refresher.start()
            yield bundle.name, refresher


def _manager(
    kit: Kit, sources: Mapping[str, Source], parsing: Parsing, asked: Event
) -> DagFileProcessorManager:
    process, given, clock = kit.process, kit.given, kit.clock
    contents, release = Contents(clock), release_of()
    shelves = {
        name: Shelf(
            name, process.me.id, Lister(safe_mode=given.safe_mode), contents, release, clock
        )
        for name in sources
    }
    pace = Pace(given.min_file_process_interval, given.unchanged_file_process_interval)
    store = Store(process.engine, process.me, pace, given.dags_are_paused_at_creation)
    survey = Survey(
        process.engine, process.me, store, given.health_check_threshold, sources, shelves
    )
    return DagFileProcessorManager(
        process.engine,
        process.me,
        given,
        clock,
        survey,
        parsing,
        Clerk(store.files, release, clock),
        Retention(process.engine, process.me, given, clock),
        notify=process.notifier.notify,
        asked=asked,
    )


def parsing_of(given: ParserSettings, around: Surroundings, clock: Clock) -> Parsing:
    """Return what parses files as the settings say; nothing is started yet."""
    return Parsing(
        lambda: _start_forker(given, around),
        lambda job: _child_of(job, given, around),
        Bounds(
            given.dag_file_processor_timeout,
            given.max_parse_output_bytes,
            given.max_parse_answer_bytes,
        ),
        given.parsing_processes,
        clock,
    )


def release_of() -> str:
    """Return what tells what reads DAG files here: Headway, Python, and all that is installed.

    Files are parsed again when it changes, since what they import may have.
    """
    installed = {it.name for folder in sys.path for it in Path(folder).glob("*.dist-info")}
    told = "\n".join([sys.version, __version__, str(FORMAT_VERSION), *sorted(installed)])
    return sha256(told.encode()).hexdigest()[:16]


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


def _named(given: ParserSettings) -> list[Path]:
    return [it.path.absolute() for it in given.sources.values() if it.path is not None]


def _start_forker(given: ParserSettings, around: Surroundings) -> Forker:
    readable = [str(folder) for folder in _named(given) if folder.is_dir()]
    sandbox = _sandbox(readable, given, around)
    if given.forker is not None:
        return Forker.connect(given.forker, sandbox=sandbox)
    return Forker.start(PRELOAD, scrubbed_environment(around.environment), sandbox=sandbox)


def _child_of(job: Job, given: ParserSettings, around: Surroundings) -> ChildSpec:
    return ChildSpec(
        target=child.TARGET,
        argument={"root": str(job.root), "path": job.key.path},
        limits=Limits(address_space_bytes=given.dag_file_memory_limit_bytes, niceness=NICENESS),
        sandbox=_sandbox([str(job.root)], given, around),
    )


def _sandbox(readable: list[str], given: ParserSettings, around: Surroundings) -> Sandbox:
    return Sandbox(
        readable=(*readable, *given.readable),
        hidden=tuple(map(str, around.hidden)),
        network=given.parse_network,
        user=given.parse_user,
    )
