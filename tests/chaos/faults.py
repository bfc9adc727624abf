"""All kinds of faults by their names: those of workers, and those of everything else."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from tests.chaos import process_faults
from tests.chaos.database_faults import DatabaseFaults
from tests.chaos.fault_series import Steps, Timer
from tests.chaos.other_faults import OtherFaults
from tests.chaos.process_faults import ProcessFaults
from tests.chaos.scene import Scene

from headway.runtime.daemon.clock import Clock

Fault: TypeAlias = tuple[str, Callable[[], Steps]]


def of_workers(scene: Scene, timer: Timer, chance: Random, stall: tuple[str, ...]) -> list[Fault]:
    """Return the faults of workers by name, with the stalls that are wanted."""
    processes, database = ProcessFaults(scene, timer, chance), DatabaseFaults(scene, timer, chance)
    stalls: dict[str, Callable[[], Steps]] = {
        "supervisor": processes.stall_supervisor,
        "forker": lambda: processes.stall_below(process_faults.forkers),
        "nanny": lambda: processes.stall_below(process_faults.nannies),
    }
    return [
        ("kill worker", lambda: processes.kill("worker")),
        ("kill forker", lambda: processes.kill_below(process_faults.forkers)),
        ("kill nanny", lambda: processes.kill_below(process_faults.nannies)),
        ("kill attempt", lambda: processes.kill_below(process_faults.attempts)),
        ("kill Spark server", lambda: processes.kill_below(process_faults.spark_servers)),
        ("cut off worker", lambda: database.cut_off("worker")),
        *((f"stall {name}", stalls[name]) for name in stall),
    ]


def of_others(scene: Scene, timer: Timer, chance: Random, clock: Clock, skew: float) -> list[Fault]:
    """Return all other faults by name; clocks are shifted by so many seconds, or not at all."""
    processes, database = ProcessFaults(scene, timer, chance), DatabaseFaults(scene, timer, chance)
    others = OtherFaults(scene, timer, chance, clock, scene.root / "dags" / "pipelines.py", skew)
    return [
        ("kill scheduler", lambda: processes.kill("scheduler")),
        ("stall scheduler", lambda: processes.stall("scheduler")),
        ("kill parser", lambda: processes.kill("parser")),
        ("kill api", lambda: processes.kill("api")),
        ("stall api", lambda: processes.stall("api")),
        ("cut off api", lambda: database.cut_off("api")),
        ("kill Postgres", database.kill_postgres),
        ("close connections", database.terminate_backends),
        ("hold a lock", database.hold_lock),
        ("clear a task", others.clear_running),
        ("cancel a run", others.cancel_run),
        ("edit the DAG file", others.edit),
        ("lose an answer", others.lose_answer),
        *([("shift a clock", others.shift_clock)] if skew else []),
    ]
