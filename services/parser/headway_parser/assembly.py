"""The parts of a parser, put together from its settings."""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Event

from headway import __version__
from headway.db.access.registration import Registered
from headway.db.core import processes
from headway.db.core.notices import PARSER
from headway.domain.dag.notifiers import NotifierSpec
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import Forker
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.parser import ParserSettings
from headway.serialization.codec import FORMAT_VERSION
from headway_parser.bundles import FolderBundle, open_bundles
from headway_parser.bundles.bundle_files import BundleReader
from headway_parser.bundles.refresh import Refresher
from headway_parser.bundles.source import BundleSource, FolderSource
from headway_parser.contents import FileContents
from headway_parser.discover.bundle_scan import BundleScan
from headway_parser.discover.bundle_state import BundleState
from headway_parser.discover.listing import Lister
from headway_parser.discover.watcher import FileWatcher
from headway_parser.manager import DagFileProcessorManager
from headway_parser.parse.bundle_forker import server_of, start_bundle_forker
from headway_parser.parse.bundle_forkers import BundleForkers
from headway_parser.parse.fork_server import ParserHost, child_of, is_other_user, start
from headway_parser.parse.jobs import Job
from headway_parser.parse.processor import Bounds
from headway_parser.parse.processor_pool import ProcessorPool
from headway_parser.publish.pace import ReparsePace
from headway_parser.publish.publish import Publisher
from headway_parser.publish.result_writer import ResultWriter
from headway_parser.publish.retention import VersionRetention
from headway_parser.secrets.answers import SecretAnswering
from headway_parser.secrets.resolver import BundleSecretResolver


@dataclass(frozen=True, slots=True)
class ParserParts:
    """What the parts of one parser share; `ask` has it look at its files at once."""

    process: Registered
    given: ParserSettings
    around: ParserHost
    clock: Clock
    ask: Callable[[], None]


@contextmanager
def assembled(
    process: Registered,
    given: ParserSettings,
    around: ParserHost,
    parsing: ProcessorPool,
    bell: Bell,
) -> Iterator[DagFileProcessorManager]:
    """Give a manager of the bundles that the settings name, for as long as the context lasts."""
    scan_requested = Event()

    def ask() -> None:
        scan_requested.set()
        bell.ring()

    parts = ParserParts(process, given, around, parsing.clock, ask)
    process.tell(lambda conn: processes.serve(conn, process.me, sorted(given.sources)))
    process.listen({PARSER: ask})
    with ExitStack() as ending:
        sources = dict(_sources(parts))
        for source in sources.values():
            ending.callback(source.close)
        manager = _manager(parts, sources, parsing, scan_requested)
        if given.reads_secrets:
            ending.callback(_let_read(parts, manager).close)
        if given.watch_files:
            watcher = FileWatcher(ask)
            ending.callback(watcher.close)
            manager.scan.watch = watcher.watch
        ending.callback(manager.close)
        yield manager


def _sources(parts: ParserParts) -> Iterator[tuple[str, BundleSource]]:
    around, process = parts.around, parts.process
    if any(bundle.git is not None for bundle in parts.given.sources.values()):
        configuration.make_home(around.home, shared=parts.given.forker is not None)
    for bundle in open_bundles(parts.given, around.home, around.environment):
        if isinstance(bundle, FolderBundle):
            yield bundle.name, FolderSource(bundle)
        else:
            refresher = Refresher(process.engine, process.me, bundle, parts.clock, parts.ask)
            refresher.start()
            yield bundle.name, refresher


def _manager(
    parts: ParserParts,
    sources: Mapping[str, BundleSource],
    parsing: ProcessorPool,
    scan_requested: Event,
) -> DagFileProcessorManager:
    process, given, clock = parts.process, parts.given, parts.clock
    contents, release = FileContents(clock), release_of(given)
    states = {
        name: BundleState(
            name,
            process.me.id,
            Lister(safe_mode=given.safe_mode),
            contents,
            release,
            clock,
            BundleReader(clock, parts.around.hidden, as_other=is_other_user(given)),
        )
        for name in sources
    }
    paused = given.dags_are_paused_at_creation
    pace = ReparsePace(given.min_file_process_interval, given.unchanged_file_process_interval)
    store = Publisher(process.engine, process.me, pace, paused, _notifiers(given))
    scan = BundleScan(
        process.engine, process.me, store.forget, given.health_check_threshold, sources, states
    )
    return DagFileProcessorManager(
        process.engine,
        process.me,
        given,
        clock,
        scan,
        parsing,
        ResultWriter(store.files, release, clock),
        VersionRetention(process.engine, process.me, given, clock),
        notify=process.notifier.notify,
        scan_requested=scan_requested,
    )


def _let_read(parts: ParserParts, manager: DagFileProcessorManager) -> SecretAnswering:
    """Let files of bundles that allow it read connections and variables while they are parsed."""
    bundles = {name for name, its in parts.given.sources.items() if its.parse_time_secrets}
    resolver = BundleSecretResolver(parts.process.engine, secret_keys.provided_here())
    for name in bundles:
        manager.scan.states[name].secret_states = resolver.states
    answering = SecretAnswering(resolver, parts.clock)
    manager.parsing.secrets = answering
    manager.parsing.reads_secrets = lambda job: job.key.bundle in bundles
    return answering


def _notifiers(given: ParserSettings) -> Mapping[str, tuple[NotifierSpec, ...]]:
    return {
        name: tuple(notifier.spec for notifier in its.notify) for name, its in given.sources.items()
    }


def parsing_of(
    given: ParserSettings,
    around: ParserHost,
    clock: Clock,
    starting: Future[Forker] | None = None,
) -> ProcessorPool:
    """Return what parses files as the settings say, by a fork server that may be `starting`."""
    return ProcessorPool(
        lambda: start(given, around),
        lambda job: child_of(job, given, around),
        Bounds(
            given.dag_file_processor_timeout,
            given.max_parse_output_bytes,
            given.max_parse_answer_bytes,
        ),
        given.parsing_processes,
        clock,
        starting,
        bundle_forkers=_bundle_forkers(given, around, clock),
    )


def _bundle_forkers(
    given: ParserSettings, around: ParserHost, clock: Clock
) -> BundleForkers | None:
    if not given.preload_imports:
        return None

    def start_one(forker: Forker, job: Job, modules: tuple[str, ...]) -> Forker:
        spec = child_of(job, given, around)
        server = server_of(job.root, modules, spec, 2 * given.parsing_processes)
        return start_bundle_forker(forker, server, spec, given.dag_file_processor_timeout)

    return BundleForkers(start_one, clock, given.preload_idle_timeout)


def release_of(given: ParserSettings) -> str:
    """Return what tells what reads DAG files here: Headway, Python, and all that is installed.

    Files are parsed again when it changes, since what they import may have; or what their cron
    strings mean, or whether they may read connections and variables, by the settings of their
    bundles.
    """
    sources = sorted(given.sources.items())
    semantics = [f"{name}={its.cron_semantics}" for name, its in sources if its.cron_semantics]
    reading = [f"{name} reads secrets" for name, its in sources if its.parse_time_secrets]
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")}
    told = "\n".join(
        [
            *(sys.version, __version__, str(FORMAT_VERSION), given.airflow_layer),
            *(*sorted(installed), *semantics, *reading),
        ]
    )
    return sha256(told.encode()).hexdigest()[:16]
