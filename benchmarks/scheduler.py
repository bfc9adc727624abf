"""How fast schedulers are alone: four shapes of work, one to three replicas, beside the floor."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.support import server
from benchmarks.support.fleet import PROFILES, Fleet, fleet
from benchmarks.support.floor import Floor
from benchmarks.support.meter import top_statements
from benchmarks.support.report import Row
from benchmarks.support.server import Database, Server
from benchmarks.support.shapes import Shape, store
from benchmarks.support.throughput import Measured, measure_runs
from benchmarks.support.turns import turns

NAME: Final = "scheduler"
REPEAT: Final = 5
REPEAT_LARGE: Final = 3
PAIR: Final = 2


SHAPES: Final = {
    Shape("1: 100 DAGs x 1 run x chain of 10", 100, 1, 10, chained=True): 0.2,
    Shape("2: 10 DAGs x 10 runs x 10 tasks", 10, 10, 10): 0.1,
    Shape("3: 1 DAG x 1 run x 1,000 tasks", 1, 1, 1000): 0.05,
    Shape("4: 200 DAGs x 5 runs x 1 task", 200, 5, 1): 0.2,
}
"""The SQL statements for a task instance that one scheduler may send."""

GAINS: Final = {2: 0.85, 3: 0.75}
"""Throughput of so many schedulers against that of one."""

LARGE: Final = (
    Shape("1 x 10: 100 DAGs x 10 runs x chain of 10", 100, 10, 10, chained=True),
    Shape("2 x 10: 10 DAGs x 100 runs x 10 tasks", 10, 100, 10),
    Shape("3 x 10: 1 DAG x 1 run x 10,000 tasks", 1, 1, 10_000),
    Shape("4 x 10: 200 DAGs x 50 runs x 1 task", 200, 50, 1),
)


def run() -> Iterator[Row]:
    """Measure each shape with 1, 2 and 3 schedulers, and ten times as many tasks with 1 and 2."""
    with server.running() as postgres:
        for shape, most in SHAPES.items():
            yield from _rows(shape, most, *_measure_shape(postgres, shape, 3, REPEAT))
        for shape in LARGE:
            yield from _rows(shape, None, *_measure_shape(postgres, shape, 2, REPEAT_LARGE))


def _measure_shape(
    postgres: Server, shape: Shape, most: int, repeat: int
) -> tuple[list[float], list[list[Measured]]]:
    """Return the floor's seconds, and the measurements by number of schedulers.

    Each number of schedulers has a database of its own, and they take turns: so what the
    machine does meanwhile, and the tables that grow, concern all of them alike.
    """
    floors: list[float] = []
    by_schedulers: list[list[Measured]] = [[] for _ in range(most)]
    with ExitStack() as stack:
        floor = _floor(stack.enter_context(postgres.database("floor")), shape)
        stack.callback(floor.close)
        fleets = [_fleet(stack, postgres, number, shape) for number in range(1, most + 1)]
        for repetition in turns(repeat):
            floors.append(floor.seconds())
            hours = range(repetition * shape.runs, (repetition + 1) * shape.runs)
            for (services, dags), measured in zip(fleets, by_schedulers, strict=True):
                measured.append(measure_runs(services, dags, hours, shape.instances))
        for services, _ in fleets:
            _keep_statements(services.database, shape, len(services.pids))
    return floors, by_schedulers


def _fleet(
    stack: ExitStack, postgres: Server, schedulers: int, shape: Shape
) -> tuple[Fleet, dict[str, int]]:
    database = stack.enter_context(postgres.database(f"schedulers_{schedulers}"))
    dags = store(database.owner, shape.specs())
    services = stack.enter_context(fleet(database))
    for _ in range(schedulers):
        services.add_scheduler()
    return services, dags


def _floor(database: Database, shape: Shape) -> Floor:
    floor = Floor(database, shape, store(database.owner, shape.specs()))
    floor.seconds()  # so that nothing is done for the first time
    return floor


def _keep_statements(database: Database, shape: Shape, schedulers: int) -> None:
    if not PROFILES:
        return
    with database.owner.connect() as conn, Path(PROFILES, "statements.txt").open("a") as file:
        file.write(f"=== {shape.name}, {schedulers} schedulers\n{top_statements(conn)}\n")


def _rows(
    shape: Shape, most: float | None, floors: list[float], by_schedulers: list[list[Measured]]
) -> Iterator[Row]:
    one, count = by_schedulers[0], shape.instances
    rates = [[count / each.seconds for each in measured] for measured in by_schedulers]
    ratios = [below / each.seconds for below, each in zip(floors, one, strict=True)]
    statements = [each.spent.statements / count for each in one]
    floor = [count / below for below in floors]
    yield Row.of(NAME, shape.name, "throughput", rates[0], "TI/s", better="higher")
    if most is None:
        yield Row.of(NAME, shape.name, "ratio to the floor", ratios, "", better="higher")
        yield Row.of(NAME, shape.name, "statements per TI", statements, "")
    else:
        yield Row.at_least(NAME, shape.name, ratios, "", 1 / 3, "ratio to the floor")
        yield Row.at_most(NAME, shape.name, statements, "", most, "statements per TI")
    yield Row.of(NAME, shape.name, "floor", floor, "TI/s", better="")
    yield from _costs(shape, one)
    for number, (measured, rate) in enumerate(zip(by_schedulers, rates, strict=True), 1):
        if number > 1:
            gains = [each / alone for each, alone in zip(rate, rates[0], strict=True)]
            yield from _replicas(shape, number, measured, gains)


def _costs(shape: Shape, one: list[Measured]) -> Iterator[Row]:
    count = shape.instances
    frames = [each.spent.frames / count for each in one]
    yield Row.of(NAME, shape.name, "BEGIN and COMMIT per TI", frames, "")
    for metric, seconds in (
        ("scheduler CPU per TI", [each.spent.cpu for each in one]),
        ("its backends' CPU per TI", [each.spent.server_cpu for each in one]),
        ("Postgres CPU per TI, all", [each.spent.all_servers_cpu for each in one]),
    ):
        yield Row.of(NAME, shape.name, metric, [1e3 * each / count for each in seconds], "ms")


def _replicas(
    shape: Shape, number: int, measured: list[Measured], gains: list[float]
) -> Iterator[Row]:
    metric = f"{number} schedulers, throughput against 1"
    yield Row.at_least(NAME, shape.name, gains, "", GAINS[number], metric)
    shares = [each.largest_share for each in measured]
    metric = f"{number} schedulers, largest share"
    if number == PAIR:
        yield Row.at_most(NAME, shape.name, shares, "", 0.7, metric)
    else:
        yield Row.of(NAME, shape.name, metric, shares, "")
