"""The keeper of the zoo: puts a fault beside a canary, and looks at what it does to others."""

import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from threading import Event, Thread

from sqlalchemy import Connection, text

from headway.db.parsing import files
from headway.db.parsing.files import FileKey
from headway.db.reads import process_views
from headway.runtime.daemon.clock import SystemClock
from headway.testing.services.stack import Stack, running_stack
from headway.testing.time.clock import until
from headway_parser.child.bundle_forker import NAME as BUNDLE_FORKER

TIMEOUT = 8
"""Seconds: even a busy machine stops a file for its memory sooner than for its time."""
PLACES = 2
MEMORY = 512 * 2**20
OUTPUT = 64 * 2**10
ANSWER = 4 * 2**20

LIMITS = {
    "HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT": str(TIMEOUT),
    "HEADWAY_PARSER_DAG_FILE_MEMORY_LIMIT_BYTES": str(MEMORY),
    "HEADWAY_PARSER_MAX_PARSE_OUTPUT_BYTES": str(OUTPUT),
    "HEADWAY_PARSER_MAX_PARSE_ANSWER_BYTES": str(ANSWER),
    "HEADWAY_PARSER_PARSING_PROCESSES": str(PLACES),
}

FOLDERS = "headway-sandbox-"
"""How the names of folders begin that hold scratch folders."""

LONGEST_DELAY = 3.0
"""Seconds from the creation of a canary's run until its task is queued: 1.5 on a busy machine."""

DELAY = text("""
    SELECT extract(epoch FROM min(attempt.queued_at) - run.created_at)
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS attempt ON attempt.task_instance_id = task.id
     WHERE run.dag_id = 'canary' AND run.run_id = :run_id AND attempt.started_at IS NOT NULL
     GROUP BY run.id
""")

SLOW = text("""
    SELECT to_char(run.created_at, 'HH24:MI:SS.MS'), run.started_at - run.created_at AS started,
           attempt.queued_at - run.created_at AS queued,
           attempt.started_at - run.created_at AS task_started
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS attempt ON attempt.task_instance_id = task.id
     WHERE run.dag_id = 'canary'
       AND attempt.queued_at > run.created_at + make_interval(secs => :seconds)
""")

PARSERS = text("SELECT id, pid FROM process WHERE kind = 'parser' ORDER BY id")
IN_FORCE = text("""
    SELECT version.number FROM dag JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id AND dag.active
""")
FILE = text("""
    SELECT parsed_at, claimed FROM dag_file WHERE bundle = 'dags' AND relative_path = :path
""")

_CLOCK = SystemClock()
_NEVER = Event()
_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file: code at the end of a good one, and the error that it must get.

    A `…` stands for anything.
    """

    code: str
    error: str

    def check(self, told: str) -> None:
        pattern = ".*".join(re.escape(part.strip(" ")) for part in self.error.split("…"))
        assert re.fullmatch(pattern, told, re.DOTALL), told


def dag(dag_id: str, *task_ids: str) -> str:
    """The source of a DAG with empty tasks."""
    tasks = [f"    EmptyOperator(task_id={task_id!r})\n" for task_id in task_ids or ("only",)]
    return f"from headway.sdk import DAG, EmptyOperator\nwith DAG({dag_id!r}):\n{''.join(tasks)}\n"


@dataclass(slots=True)
class Song:
    """How long it took the scheduler to queue each run's task."""

    delays: list[float] = field(default_factory=list)
    silence: Exception | None = None


@dataclass(slots=True)
class Zoo:
    """Services with a canary DAG among the files."""

    stack: Stack
    scratch: Path
    parser: int
    _killed: list[int] = field(default_factory=list)
    _edits: int = 1

    def write(self, name: str, source: str) -> Path:
        """Write a file as a whole.

        A hostile child does not tell that it has read half of one, which is parsed once more.
        """
        file = self.stack.dags / name
        part = file.with_name(f"{name}.part")
        part.write_text(dedent(source))
        return part.replace(file)

    @contextmanager
    def canary(self) -> Iterator[Song]:
        """Run the canary again and again meanwhile; each of its runs must start soon."""
        song, ended = Song(), Event()
        singer = Thread(target=self._sing, args=(song, ended), daemon=True)
        singer.start()
        try:
            yield song
        finally:
            ended.set()
            singer.join()
        assert song.silence is None, song.silence
        assert song.delays
        assert max(song.delays) < LONGEST_DELAY, self._slow_runs()

    def edit_canary(self) -> None:
        """Edit the canary, and wait until that is in force."""
        self._edits += 1
        self.write("canary.py", dag("canary", "sing", f"sing_{self._edits}"))
        self.stack.wait_for_version("canary", self._edits)

    def touch(self, path: str) -> None:
        """Have a file parsed once more, by an edit that says nothing new."""
        before = self.file(path)["parsed_at"]
        self.write(path, (self.stack.dags / path).read_text() + "#\n")
        self.stack.until(
            lambda _: self.file(path)["parsed_at"] != before, f"another parse of {path}"
        )

    def wait_until_parsing(self, path: str) -> None:
        """Wait until the file has been claimed by the parser."""
        self.stack.until(lambda conn: self._claimed(conn, path), f"{path} being parsed")

    def check_edits(self, *paths: str) -> None:
        """Check that an edit of the canary is in force while the files are still being parsed."""
        for path in paths:
            self.wait_until_parsing(path)
        self.edit_canary()
        with self.stack.engine.connect() as conn:
            for path in paths:
                assert self._claimed(conn, path), f"{path} was parsed before the canary's edit"

    def in_force(self, dag_id: str) -> int | None:
        """The number of the version in force; None without one."""
        with self.stack.engine.connect() as conn:
            number: int | None = conn.scalar(IN_FORCE, {"dag_id": dag_id})
        return number

    def provoke(self, name: str, fault: Fault, *, slow: bool = False) -> None:
        """Have a good file go bad, and check all that must hold of it until it is mended."""
        path = f"{name}.py"
        with self.canary():
            self.write(path, dag(name, "good") + dedent(fault.code))
            if slow:
                self.check_edits(path)
            fault.check(self.stack.wait_for_import_error(path))
        assert self.in_force(name) == 1
        self.check_left_alone(path)
        self.check_unharmed()
        self.write(path, dag(name, "mended"))
        self.stack.wait_for_version(name, 2)
        self.stack.wait_for_no_import_error(path)

    def tolerate(self, name: str, code: str) -> None:
        """Have a file do something that is no error, and check that it does nothing to others."""
        with self.canary():
            self.write(f"{name}.py", dag(name, "misbehaves") + dedent(code))
            self.stack.wait_for_version(name, 2)
        self.stack.wait_for_no_import_error(f"{name}.py")
        self.check_unharmed()

    def check_left_alone(self, path: str) -> None:
        """Check that a file is not parsed again while it is as it is, though others are.

        One that fails is tried again after a while, which may be just then, but not twice.
        """
        for _ in range(2):
            before = self.file(path)
            self.edit_canary()  # the listing that found it would have found this one as well
            after = self.file(path)
            if after == before:
                return
        raise AssertionError(f"it is parsed again and again: {before}, then {after}")

    def check_unharmed(self) -> None:
        """Check that the parser is the one that was started, and that children left nothing."""
        assert self.parsers() == [*self._killed, self.parser]
        until(lambda: not self._left_processes(), "no process of a child left", 10)
        until(lambda: not self._left_files(), "nothing in a scratch folder", 10)

    def parsers(self) -> list[int]:
        """The process ids of all parsers that there ever were."""
        with self.stack.engine.connect() as conn:
            return [row.pid for row in conn.execute(PARSERS)]

    def kill_parser(self) -> None:
        """Kill the parser, and wait until another one is there and at work."""
        before = self.parsers()
        os.kill(self.parser, signal.SIGKILL)
        self.stack.until(lambda _: self.parsers() != before, "another parser")
        *self._killed, self.parser = self.parsers()
        self.edit_canary()

    def peak_memory(self) -> int:
        """The most bytes that the parser has ever held."""
        return _status(self.parser, "VmHWM") * 1024

    def file(self, path: str) -> Mapping[str, object]:
        """What is stored of a file."""
        with self.stack.engine.connect() as conn:
            return dict(conn.execute(FILE, {"path": path}).mappings().one())

    def _sing(self, song: Song, ended: Event) -> None:
        try:
            while not song.delays or not ended.is_set():
                song.delays.append(self._delay(self.stack.trigger("canary").run_id))
                _CLOCK.wait(ended, _PAUSE)
        except Exception as error:  # noqa: BLE001 - it belongs to the test, not to this thread
            song.silence = error

    def _slow_runs(self) -> str:
        """Tell when each of the canary's slow runs came how far."""
        with self.stack.engine.connect() as conn:
            slow = conn.execute(SLOW, {"seconds": LONGEST_DELAY}).all()
        return "\n".join(str(row) for row in [*slow, self.stack.service_logs()])

    def _delay(self, run_id: str) -> float:
        """Wait until the run has started; return the seconds that it took."""

        def started(conn: Connection) -> float | None:
            seconds: Decimal | None = conn.scalar(DELAY, {"run_id": run_id})
            return None if seconds is None else float(seconds) or 1e-9

        return self.stack.until(started, "the canary's start")

    def _claimed(self, conn: Connection, path: str) -> bool:
        row = files.board(conn, ["dags"]).get(FileKey("dags", path))
        return row is not None and row.claimed

    def _left_files(self) -> list[Path]:
        """What is in scratch folders; that of a bundle's fork server holds those of its parses."""
        left = [it for it in self.scratch.glob("*/*/*") if not it.name.startswith(FOLDERS)]
        return [*left, *self.scratch.glob(f"*/*/{FOLDERS}*/*/*")]

    def _left_processes(self) -> dict[int, str]:
        """Processes below the nannies, and those that faults have named, wherever they are.

        A fork server of a bundle is below a nanny and stays.
        """
        known = {pid: (_status(pid, "PPid"), _name(pid)) for pid in _pids()}

        def below(pids: set[int]) -> set[int]:
            return {pid for pid, (parent, _) in known.items() if parent in pids}

        children = below(below(below({self.parser})))  # of nannies, of the fork server
        servers = {pid for pid in children if known[pid][1] == BUNDLE_FORKER}
        named = {pid for pid, (_, name) in known.items() if name.startswith("zoo")}
        left = (children - servers) | below(below(servers)) | named
        return {pid: known[pid][1] for pid in left}


@contextmanager
def running_zoo(
    root: Path, names: Mapping[str, object], given: Mapping[str, str] | None = None
) -> Iterator[Zoo]:
    """Run services with a canary, and a good file by each of these names."""
    dags, scratch = root / "dags", root / "scratch"
    for folder in (dags, scratch):
        folder.mkdir(exist_ok=True)
    (dags / "canary.py").write_text(dag("canary", "sing"))
    for name in names:
        (dags / f"{name}.py").write_text(dag(name, "good"))
    settings = {**LIMITS, "TMPDIR": str(scratch), **(given or {})}
    with running_stack(root / "home", dags, settings) as stack:
        with stack.engine.connect() as conn:
            (parser,) = (row.pid for row in process_views.processes(conn, "parser"))
        zoo = Zoo(stack, scratch, parser)
        yield zoo
        zoo.check_unharmed()
        assert stack.run("canary").state == "success"


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _status(pid: int, field: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has ended
        return 0
    return int(status.partition(f"{field}:")[2].split()[0])
