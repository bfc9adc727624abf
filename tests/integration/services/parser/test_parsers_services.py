"""Two parsers on one folder share its files, and neither's death or sleep harms any of them."""

import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.integration.services.parser.test_changing_dag_files_services import dag

from headway.testing.services.cluster import ClusterMember, ServiceCluster, service_cluster
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

# Every parse that is stored is noted, whoever stores it.
NOTE_PARSES = (
    "CREATE TABLE noted_parse (number serial, path text, parser_id bigint)",
    """
    CREATE FUNCTION note_parse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO public.noted_parse (path, parser_id) VALUES (NEW.relative_path, NEW.parser_id);
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER note_parse AFTER UPDATE OF parsed_at ON dag_file
       FOR EACH ROW EXECUTE FUNCTION note_parse()
    """,
)
NOTED = text("SELECT path, parser_id FROM noted_parse WHERE path <> 'probe.py' ORDER BY number")
ACTIVE = text("SELECT count(*) FROM dag WHERE active")
CLAIMED = text("SELECT relative_path, parser_id FROM dag_file WHERE claimed")
VERSIONS = text("""
    SELECT dag_id, number, (SELECT string_agg(task_id, ',') FROM dag_task WHERE version_id = it.id)
           AS tasks
      FROM dag_version AS it
     WHERE dag_id <> 'probe'
     ORDER BY 1, 2
""")
PROBES = text("""
    SELECT task.task_id AS word, file.parser_id
      FROM dag_file AS file
      JOIN dag ON dag.relative_path = file.relative_path
      JOIN dag_task AS task USING (version_id)
     WHERE dag.dag_id = 'probe' AND NOT file.claimed
""")
IS_DEAD = text("SELECT ended_at IS NOT NULL FROM process WHERE id = :id")

WAITING = """
from pathlib import Path
from time import sleep
while not Path({flag!r}).exists():
    sleep(0.02)
"""

SETTINGS = {
    "HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT": "600",
    "HEADWAY_PARSER_MIN_FILE_PROCESS_INTERVAL": "3600",  # nothing is parsed but for a change
}
SOON_DEAD = {
    "HEADWAY_PARSER_HEARTBEAT_INTERVAL": "0.5",
    "HEADWAY_PARSER_HEALTH_CHECK_THRESHOLD": "3",
}
"""Others take over soon what a parser has claimed that is silent."""

DECLARED_DEAD = {
    "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "0.5",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "5",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.5",
}
FENCED = 3


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """What slow files wait for."""
    (tmp_path / "flags").mkdir()
    return tmp_path / "flags" / "go"


@pytest.fixture
def parsers(database_url: str, tmp_path: Path, flag: Path) -> Iterator[ServiceCluster]:
    """A cluster without members, whose parses are noted."""
    readable = {"HEADWAY_PARSER_READABLE_PATHS": str(flag.parent)}
    with service_cluster(database_url, tmp_path, {**SETTINGS, **SOON_DEAD, **readable}) as cluster:
        with cluster.engine.begin() as conn:
            for statement in NOTE_PARSES:
                conn.exec_driver_sql(statement)
        yield cluster


def put(cluster: ServiceCluster, flag: Path, count: int) -> list[str]:
    """Have this many slow files appear in the folder, all at once; return their paths."""
    folder = cluster.dags / "many"
    draft = cluster.home / "many"
    draft.mkdir()
    for number in range(count):
        source = WAITING.format(flag=str(flag)) + dag(f"dag_{number}")
        (draft / f"file_{number}.py").write_text(source)
    draft.rename(folder)
    return sorted(f"many/{file.name}" for file in folder.iterdir())


def claims(conn: Connection) -> Mapping[str, int]:
    """Who parses what at the moment."""
    return {row.relative_path: row.parser_id for row in conn.execute(CLAIMED)}


def noted(cluster: ServiceCluster) -> list[tuple[str, int]]:
    """The parses that were stored, and by whom; those of the probe do not count here."""
    with cluster.engine.connect() as conn:
        return [(row.path, row.parser_id) for row in conn.execute(NOTED)]


def versions(cluster: ServiceCluster) -> list[tuple[str, int, str]]:
    with cluster.engine.connect() as conn:
        return [(row.dag_id, row.number, row.tasks) for row in conn.execute(VERSIONS)]


def wait_until_parsing(cluster: ServiceCluster, *parsers: ClusterMember) -> None:
    """Wait until each of these is parsing something."""
    expected = {parser.id for parser in parsers}
    cluster.until(lambda conn: expected <= set(claims(conn).values()), f"{parsers} parsing")


def have_looked(
    cluster: ServiceCluster, parser: ClusterMember, word: str, other: ClusterMember
) -> None:
    """Have this parser, and not the other one, notice a change: it has seen all before that."""
    with other.paused():
        (cluster.dags / "probe.py").write_text(dag("probe", word))
        cluster.until(lambda conn: (word, parser.id) in _probes(conn), f"{word} by {parser.name}")


def _probes(conn: Connection) -> set[tuple[str, int]]:
    return {(row.word, row.parser_id) for row in conn.execute(PROBES)}


def test_two_parsers_share_the_files(
    database_url: str, parsers: ServiceCluster, flag: Path
) -> None:
    slow_to_die = {"HEADWAY_PARSER_HEALTH_CHECK_THRESHOLD": "600"}
    first, second = (parsers.start("parser", number, slow_to_die) for number in (1, 2))
    paths = put(parsers, flag, 60)
    wait_until_parsing(parsers, first, second)
    flag.touch()
    parsers.until(lambda conn: conn.scalar(ACTIVE) == 60, "60 DAGs in force")

    assert Counter(path for path, _ in noted(parsers)) == dict.fromkeys(paths, 1)
    assert {parser for _, parser in noted(parsers)} == {first.id, second.id}
    before = versions(parsers)
    assert {number for _, number, _ in before} == {1}

    for word in ("one", "two"):  # neither corrects the other, however often they look
        have_looked(parsers, first, f"{word}_first", second)
        have_looked(parsers, second, f"{word}_second", first)
    assert Counter(path for path, _ in noted(parsers)) == dict.fromkeys(paths, 1)
    assert versions(parsers) == before

    for path in paths[:20]:
        file = parsers.dags / path
        file.write_text(f"{file.read_text()}    EmptyOperator(task_id='more')\n")
    parsers.until(
        lambda _: (
            sum(number == 2 for dag_id, number, _ in versions(parsers) if dag_id != "probe") == 20
        ),
        "20 edits in force",
    )
    assert Counter(path for path, _ in noted(parsers)) == {
        **dict.fromkeys(paths, 1),
        **dict.fromkeys(paths[:20], 2),
    }


def test_what_a_killed_parser_was_parsing_is_taken_over(
    parsers: ServiceCluster, flag: Path
) -> None:
    first, second = parsers.start("parser", 1), parsers.start("parser", 2)
    paths = put(parsers, flag, 8)
    wait_until_parsing(parsers, first, second)
    with parsers.engine.connect() as conn:
        orphans = {path for path, parser in claims(conn).items() if parser == first.id}

    assert parsers.end(first, signal.SIGKILL) == -signal.SIGKILL
    flag.touch()

    parsers.until(lambda conn: conn.scalar(ACTIVE) == len(paths), "every DAG in force")
    assert orphans
    assert orphans <= {path for path, parser in noted(parsers) if parser == second.id}
    assert Counter(path for path, _ in noted(parsers)) == dict.fromkeys(paths, 1)


def test_a_parser_that_is_told_to_stop_leaves_its_files_at_once(
    parsers: ServiceCluster, flag: Path
) -> None:
    first = parsers.start("parser", 1)
    paths = put(parsers, flag, 4)
    wait_until_parsing(parsers, first)

    assert parsers.end(first) == 0
    with parsers.engine.connect() as conn:
        assert claims(conn) == {}
    assert not flag.exists()
    assert noted(parsers) == []

    second = parsers.start("parser", 2)
    wait_until_parsing(parsers, second)
    flag.touch()
    parsers.until(lambda conn: conn.scalar(ACTIVE) == len(paths), "every DAG in force")


def children_of(parser: ClusterMember) -> set[int]:
    """What parses for it: the children of the nannies that its fork server keeps."""
    generation = {parser.process.pid}
    for _ in ("fork server", "nannies", "children"):
        generation = {pid for pid in _pids() if _parent(pid) in generation}
    return generation


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def _parent(pid: int) -> int:
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(parent)


@pytest.mark.parametrize("declared_dead", [pytest.param(False, marks=pytest.mark.long), True])
def test_what_a_parser_has_slept_over_is_not_stored(
    parsers: ServiceCluster, flag: Path, declared_dead: bool
) -> None:
    first = parsers.start("parser", 1)
    [path] = put(parsers, flag, 1)
    wait_until_parsing(parsers, first)
    until(lambda: children_of(first), "its child")
    with first.paused():
        flag.touch()  # it has the answer now, and cannot take it
        until(lambda: not children_of(first), "the end of its child")
        (parsers.dags / path).write_text(dag("dag_0", "edited"))
        second = parsers.start("parser", 2)
        parsers.wait_for_version("dag_0")
        if declared_dead:
            assert parsers.end(second) == 0  # or it might be late itself
            parsers.start("scheduler", 1, DECLARED_DEAD)
            parsers.until(lambda conn: _is_dead(conn, first), "the first parser declared dead")

    if declared_dead:
        assert parsers.dismiss(first) == FENCED
    else:
        have_looked(parsers, first, "awake", second)
    assert versions(parsers) == [("dag_0", 1, "edited")]
    assert noted(parsers) == [(path, second.id)]


def _is_dead(conn: Connection, parser: ClusterMember) -> bool:
    return bool(conn.scalar(IS_DEAD, {"id": parser.id}))
