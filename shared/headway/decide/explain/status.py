"""How an installation stands as a whole, and what in it is stuck."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headway.decide.explain.snapshot import ProcessRow
from headway.decide.explain.wording import counted, lasting, listed

NEEDED: Final = {
    "scheduler": "nothing is scheduled",
    "parser": "changes of DAG files are not noticed",
    "worker": "no task starts",
}
"""The services that an installation needs, and what does not happen without each."""


@dataclass(frozen=True, slots=True)
class WaitingInPool:
    """Scheduled tasks of a pool and queue: `waiting` may be queued, others' DAGs are `paused`.

    The `longest` has waited so many seconds, of those that were looked at.
    """

    pool: str
    queue: str
    waiting: int
    paused: int
    longest: float | None


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """A pool: its slots, and how many of them attempts and deferred tasks have."""

    name: str
    slots: int
    running: int
    queued: int
    deferred: int

    @property
    def free(self) -> int:
        """Slots that nothing has; negative after a pool was made smaller."""
        return self.slots - self.running - self.queued - self.deferred


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue: the slots of workers that serve it, its queued attempts, the wait of the oldest."""

    name: str
    slots: int
    queued: int
    longest: float | None


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Runs to do, DAGs of which a run is due and not created, and seconds that the oldest wait."""

    runs_running: int
    runs_queued: int
    dags_due: int
    due_longest: float | None
    callback_longest: float | None


@dataclass(frozen=True, slots=True)
class Trouble:
    """How many DAG files and how many schedules fail; the first of each."""

    files: int
    first_file: str | None
    schedules: int
    first_dag: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """How all of it stands at one moment; durations are in seconds of the database's clock."""

    processes: Sequence[ProcessRow]
    waiting: Sequence[WaitingInPool]
    pools: Sequence[PoolStatus]
    queues: Sequence[QueueStatus]
    backlog: OpenWork
    trouble: Trouble


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The processes of a kind: how many are alive, silent or draining; slots, and what they do.

    `heartbeat` is the age in seconds of the oldest last heartbeat among those that are alive.
    """

    kind: str
    alive: int
    silent: int
    draining: int
    slots: int
    busy: int
    heartbeat: float | None


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """A pool as in PoolStatus, and the scheduled tasks of all queues that wait for it.

    Tasks of paused DAGs are in `paused` and not in `waiting`.  The `longest` has waited so many
    seconds.
    """

    name: str
    slots: int
    running: int
    queued: int
    deferred: int
    free: int
    waiting: int
    paused: int
    longest: float | None


class Stuck(StrEnum):
    """What is stuck; a word for programs."""

    NO_SERVICE = "no_service"
    SILENT = "silent"
    CLOCK = "clock"
    NO_POOL = "no_pool"
    POOL = "pool"
    NO_WORKER = "no_worker"
    QUEUE = "queue"
    RUNS = "runs"
    CALLBACKS = "callbacks"
    FILES = "files"
    SCHEDULES = "schedules"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is stuck, and what to do about it."""

    what: Stuck
    name: str
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How an installation stands, and what in it is stuck; durations are in seconds.

    Counts of runs, due DAGs and tasks of a pool stop at `counted_to`.
    """

    services: Sequence[ServiceStatus]
    processes: Sequence[ProcessRow]
    lag: OpenWork
    pools: Sequence[PoolLoad]
    queues: Sequence[QueueStatus]
    stuck: Sequence[Problem]
    counted_to: int


def report(status: Status, patience: float, counted_to: int) -> StatusReport:
    """Return what is shown of a status; what waits longer than `patience` seconds is stuck."""
    return StatusReport(
        services=services(status),
        processes=status.processes,
        lag=status.backlog,
        pools=pool_loads(status),
        queues=status.queues,
        stuck=problems(status, patience),
        counted_to=counted_to,
    )


def services(status: Status) -> list[ServiceStatus]:
    """Return how the services stand, those that every installation needs first."""
    kinds = [*NEEDED, *sorted({process.kind for process in status.processes} - NEEDED.keys())]
    return [
        _service(kind, [process for process in status.processes if process.kind == kind])
        for kind in kinds
    ]


def pool_loads(status: Status) -> list[PoolLoad]:
    """Return every pool with what waits for it, by name."""
    return [
        _load(pool, [backlog for backlog in status.waiting if backlog.pool == pool.name])
        for pool in status.pools
    ]


def _load(pool: PoolStatus, waiting: Sequence[WaitingInPool]) -> PoolLoad:
    return PoolLoad(
        name=pool.name,
        slots=pool.slots,
        running=pool.running,
        queued=pool.queued,
        deferred=pool.deferred,
        free=pool.free,
        waiting=sum(backlog.waiting for backlog in waiting),
        paused=sum(backlog.paused for backlog in waiting),
        longest=max(
            (backlog.longest for backlog in waiting if backlog.longest is not None), default=None
        ),
    )


def _service(kind: str, processes: Sequence[ProcessRow]) -> ServiceStatus:
    live = [process for process in processes if process.alive]
    return ServiceStatus(
        kind=kind,
        alive=len(live),
        silent=len(processes) - len(live),
        draining=sum(process.draining for process in live),
        slots=sum(process.slots for process in live) if kind == "worker" else 0,
        busy=sum(process.busy for process in processes),
        heartbeat=max((process.silent for process in live), default=None),
    )


def problems(status: Status, patience: float) -> list[Problem]:
    """Return what is stuck; what may wait does so after `patience` seconds."""
    return [
        problem
        for look in (_of_processes, _of_tasks, _of_queues, _of_backlog)
        for problem in look(status, patience)
    ] + list(_of_files(status.trouble))


def _of_processes(status: Status, _patience: float) -> Iterator[Problem]:
    live = {process.kind for process in status.processes if process.alive}
    for kind, without in NEEDED.items():
        if kind not in live:
            yield Problem(
                *(Stuck.NO_SERVICE, kind, f"No {kind} is alive: {without}."),
                f"Start one: `headway {kind}`; its log says why it ended.",
            )
    for kind in dict.fromkeys(process.kind for process in status.processes if not process.alive):
        yield _silent(
            kind,
            [process for process in status.processes if process.kind == kind and not process.alive],
        )
    for process in status.processes:
        if process.alive and process.clock_is_wrong and process.clock_skew is not None:
            way = "ahead" if process.clock_skew > 0 else "behind"
            off = f"{lasting(abs(process.clock_skew))} {way}"
            yield Problem(
                *(
                    Stuck.CLOCK,
                    process.name,
                    f"The clock of {process.name} is {off}: it schedules nothing.",
                ),
                f"On {process.hostname}: `timedatectl set-ntp true`.",
            )


def _silent(kind: str, silent: Sequence[ProcessRow]) -> Problem:
    names = listed([process.name for process in silent])
    longest = lasting(max(process.silent for process in silent))
    return Problem(
        *(Stuck.SILENT, kind, f"{counted(len(silent), kind)} silent for up to {longest}: {names}."),
        "A scheduler takes over what it held. If the process still runs, look at its log.",
    )


def _of_tasks(status: Status, patience: float) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in status.pools}
    served = {queue.name for queue in status.queues if queue.slots > 0}
    for backlog in status.waiting:
        if not backlog.waiting:
            continue
        tasks = (
            f"{counted(backlog.waiting, 'task')} of pool {backlog.pool} and queue {backlog.queue}"
        )
        long = backlog.longest is not None and backlog.longest > patience
        pool = pools.get(backlog.pool)
        if pool is None or pool.slots <= 0:
            state = "does not exist" if pool is None else "has no slots"
            yield Problem(
                *(Stuck.NO_POOL, backlog.pool, f"{tasks} wait, and that pool {state}."),
                f"`headway pools set {backlog.pool} SLOTS`",
            )
        elif backlog.queue not in served:
            yield _unserved(backlog.queue, f"{tasks} wait")
        elif long:
            yield Problem(
                Stuck.POOL,
                backlog.pool,
                f"{tasks} wait, the first for {lasting(backlog.longest or 0)}; "
                f"{max(pool.free, 0)} of {pool.slots} slots are free.",
                "`headway explain DAG RUN TASK` says what holds one of them.",
            )


def _of_queues(status: Status, patience: float) -> Iterator[Problem]:
    for queue in status.queues:
        if queue.queued and not queue.slots:
            yield _unserved(
                queue.name, f"{counted(queue.queued, 'attempt')} in queue {queue.name} wait"
            )
        elif queue.queued and (queue.longest or 0) > patience:
            yield Problem(
                Stuck.QUEUE,
                queue.name,
                f"{counted(queue.queued, 'attempt')} in queue {queue.name} wait for one of "
                f"{counted(queue.slots, 'slot')}, the first for {lasting(queue.longest or 0)}.",
                "`headway worker list` shows what its workers do; start more of them.",
            )


def _of_backlog(status: Status, patience: float) -> Iterator[Problem]:
    it = status.backlog
    if (it.due_longest or 0) > patience:
        yield Problem(
            Stuck.RUNS,
            "runs",
            f"Runs of {counted(it.dags_due, 'DAG')} are due and not created, the first for "
            f"{lasting(it.due_longest or 0)}.",
            "The logs of schedulers say what holds them up; more schedulers share the work.",
        )
    if (it.callback_longest or 0) > patience:
        yield Problem(
            Stuck.CALLBACKS,
            "callbacks",
            f"A callback has not ended for {lasting(it.callback_longest or 0)}.",
            "`headway callbacks list` shows all of them.",
        )


def _of_files(it: Trouble) -> Iterator[Problem]:
    remedy = "`headway dags list` says why."
    if it.first_file is not None:
        sentence = f"{counted(it.files, 'DAG file')} cannot be read; the first is {it.first_file}."
        yield Problem(Stuck.FILES, it.first_file, sentence, remedy)
    if it.first_dag is not None:
        dags = counted(it.schedules, "DAG")
        sentence = f"The schedule of {dags} cannot be asked; the first is {it.first_dag}."
        yield Problem(Stuck.SCHEDULES, it.first_dag, sentence, remedy)


def _unserved(queue: str, what: str) -> Problem:
    return Problem(
        Stuck.NO_WORKER,
        queue,
        f"{what}, and no worker serves that queue.",
        f"Start a worker with HEADWAY_WORKER_QUEUES={queue}.",
    )
