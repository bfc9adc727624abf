"""Where DAG files come from: git repositories that move, folders that vanish, editors that save."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.integration.parser.test_git_bundle import Remote
from tests.integration.services.parser.test_changing_dag_files_services import dag

from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = pytest.mark.services

VERSIONS = text("SELECT dag_id, number FROM dag_version ORDER BY 1, 2")
PARSED_LAST_BY = text("""
    SELECT parser_id FROM dag_file
     WHERE relative_path = 'first.py' AND NOT claimed AND NOT parse_requested
""")
ACTIVE = text("SELECT dag_id FROM dag WHERE active ORDER BY 1")


@contextmanager
def running(url: str, root: Path, **given: str) -> Iterator[ServiceCluster]:
    """A cluster of one service of each kind."""
    with service_cluster(url, root, given) as cluster:
        for kind in ("parser", "scheduler", "worker"):
            cluster.start(kind)
        yield cluster


def active(cluster: ServiceCluster) -> list[str]:
    with cluster.engine.connect() as conn:
        return list(conn.scalars(ACTIVE))


def versions(cluster: ServiceCluster) -> list[tuple[str, int]]:
    with cluster.engine.connect() as conn:
        return [(row.dag_id, row.number) for row in conn.execute(VERSIONS)]


def wait_until_active(cluster: ServiceCluster, *dag_ids: str) -> None:
    """Wait until exactly these DAGs are active."""
    cluster.until(lambda conn: list(conn.scalars(ACTIVE)) == sorted(dag_ids), f"only {dag_ids}")


def commits(cluster: ServiceCluster, dag_id: str) -> list[str]:
    """The commit of each version, the oldest first."""
    told = cluster.headway("dags", "versions", dag_id, "--output", "json")
    return [row["commit"] for row in reversed(json.loads(told.stdout))]


def tasks_of_a_run(cluster: ServiceCluster, dag_id: str) -> list[str]:
    run = cluster.run(dag_id)
    assert run.state == "success"
    return sorted(run.states())


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remote")


@pytest.fixture
def of_git(database_url: str, tmp_path: Path, remote: Remote) -> Iterator[ServiceCluster]:
    """Services whose one bundle is the folder `dags` of the remote, with `first` and `second`."""
    remote.commit(readme="")  # the history that a force-push goes back to
    push(remote, first=dag("first", "one"), second=dag("second"))
    source = {"git": remote.url, "ref": "main", "subdir": "dags", "refresh_interval": 0.3}
    bundles = json.dumps({"team": source})
    with running(database_url, tmp_path, HEADWAY_PARSER_BUNDLES=bundles) as cluster:
        wait_until_active(cluster, "first", "second")
        yield cluster


def push(remote: Remote, **sources: str) -> str:
    """Have the remote's branch hold exactly these DAG files."""
    for file in (remote.folder / "dags").glob("*"):
        file.unlink()
    return remote.commit(**{f"dags__{name}.py": source for name, source in sources.items()})


def test_a_bundle_follows_its_branch(of_git: ServiceCluster, remote: Remote) -> None:
    before = remote.git("rev-parse", "HEAD")
    assert commits(of_git, "first") == commits(of_git, "second") == [before]
    assert tasks_of_a_run(of_git, "first") == ["one"]

    after = push(remote, first=dag("first", "one", "two"), third=dag("third"))
    wait_until_active(of_git, "first", "third")
    of_git.wait_for_version("first", 2)
    assert commits(of_git, "first") == [before, after]
    assert commits(of_git, "third") == [after]
    assert tasks_of_a_run(of_git, "first") == ["one", "two"]

    remote.git("reset", "--quiet", "--hard", f"{before}~")
    rewritten = push(remote, first=dag("first", "three"), second=dag("second"))
    wait_until_active(of_git, "first", "second")
    of_git.wait_for_version("first", 3)
    assert commits(of_git, "first") == [before, after, rewritten]
    assert commits(of_git, "second") == [before]  # it is what it was
    assert tasks_of_a_run(of_git, "first") == ["three"]


def test_a_remote_that_goes_away_takes_nothing_along(
    of_git: ServiceCluster, remote: Remote
) -> None:
    here, away = remote.folder, remote.folder.with_name("away")
    remote.folder = here.rename(away)
    parser = of_git.member("parser-1")
    of_git.until(lambda _: "action=keep_stored bundle=team" in parser.logged(), "the remote missed")

    assert active(of_git) == ["first", "second"]
    assert tasks_of_a_run(of_git, "first") == ["one"]
    assert of_git.end(parser) == 0
    later = of_git.start("parser", 2)  # it finds what was checked out
    assert of_git.headway("dags", "reparse", "first").returncode == 0
    of_git.until(lambda conn: conn.scalar(PARSED_LAST_BY) == later.id, "a parse without the remote")
    push(remote, first=dag("first", "two"), second=dag("second"))
    assert active(of_git) == ["first", "second"]

    away.rename(here)
    of_git.wait_for_version("first", 2)
    assert versions(of_git) == [("first", 1), ("first", 2), ("second", 1)]
    assert tasks_of_a_run(of_git, "first") == ["two"]


def test_a_disk_that_fails_for_a_while_is_survived(of_git: ServiceCluster, remote: Remote) -> None:
    lock = of_git.home / "bundles" / "team" / "lock"
    lock.unlink()
    lock.mkdir()  # not even root can write to it
    push(remote, first=dag("first", "two"))
    parser = of_git.member("parser-1")
    of_git.until(lambda _: "Is a directory" in parser.logged(), "the failure told")
    assert active(of_git) == ["first", "second"]

    lock.rmdir()
    of_git.wait_for_version("first", 2)
    wait_until_active(of_git, "first")


@pytest.mark.long
def test_parsers_follow_a_branch_together(of_git: ServiceCluster, remote: Remote) -> None:
    other = of_git.start("parser", 2)
    for round_ in range(1, 6):  # each DAG is there for three rounds, and another one in each
        names = [f"dag_{number}" for number in range(round_, round_ + 3)]
        push(remote, **{name: dag(name, f"task_{round_}") for name in names})
        wait_until_active(of_git, *names)
        for number, name in zip((3, 2, 1), names, strict=True):
            of_git.wait_for_version(name, min(number, round_))
    head = remote.git("rev-parse", "HEAD")
    of_git.until(lambda _: head in other.logged(), "the other parser's check-out of the newest")
    push(remote, nothing="# no D-A-G in here\n")
    wait_until_active(of_git)


def test_a_commit_without_a_dag_file_is_evidence(of_git: ServiceCluster, remote: Remote) -> None:
    """An empty folder may be a volume that is not mounted; a commit is what it is."""
    push(remote, nothing="# no D-A-G in here\n")
    wait_until_active(of_git)

    push(remote, first=dag("first", "one"))
    wait_until_active(of_git, "first")
    assert versions(of_git) == [("first", 1), ("second", 1)]


def test_of_two_bundles_with_the_same_dag_the_first_keeps_it(
    database_url: str, tmp_path: Path
) -> None:
    folders = {name: tmp_path / name for name in ("old", "new")}
    for folder in folders.values():
        folder.mkdir()
    bundles = {name: {"path": str(folder)} for name, folder in folders.items()}
    with running(database_url, tmp_path, HEADWAY_PARSER_BUNDLES=json.dumps(bundles)) as cluster:
        (folders["old"] / "here.py").write_text(dag("twin", "old"))
        cluster.wait_for_version("twin")
        (folders["new"] / "there.py").write_text(dag("twin", "new") + dag("only_there"))

        told = cluster.wait_for_import_error("there.py")
        assert "there.py is taken by the file here.py (bundle old)" in told
        wait_until_active(cluster, "only_there", "twin")  # the rest of the file counts
        assert tasks_of_a_run(cluster, "twin") == ["old"]

        (folders["old"] / "here.py").write_text(dag("another"))
        wait_until_active(cluster, "another", "only_there", "twin")
        cluster.wait_for_no_import_error("there.py")
        row = cluster.dag("twin")
        assert (row.bundle, row.relative_path, row.version) == ("new", "there.py", 2)
        assert tasks_of_a_run(cluster, "twin") == ["new"]


NAMES = [f"dag_{number}" for number in range(9)]


@pytest.fixture(scope="module")
def services(
    postgres: ThrowawayPostgres,
    template: str,
    address: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ServiceCluster]:
    """Services whose DAGs folder is a link to a folder `disk` beside it."""
    root, database = tmp_path_factory.mktemp("mounted"), f"headway_test_{secrets.token_hex(4)}"
    (root / "disk").mkdir()
    (root / "dags").symlink_to("disk")
    with running(address(postgres.create_database(database, template)), root) as cluster:
        yield cluster
    postgres.drop_database(database)


@pytest.fixture
def mounted(services: ServiceCluster) -> ServiceCluster:
    """These services with nine DAGs in force, in ten files."""
    for name in NAMES:
        (services.dags / f"{name}.py").write_text(dag(name))
    wait_until_active(services, *NAMES)
    look_around(services)
    return services


def look_around(cluster: ServiceCluster) -> None:
    """Edit a file: whoever has noticed that has noticed all that was done before it."""
    word = secrets.token_hex(4)
    (cluster.dags / "probe.py").write_text(f"raise Exception('no headway, no dag, {word}')\n")
    cluster.until(lambda _: word in cluster.wait_for_import_error("probe.py"), f"error {word}")


def emptied(disk: Path) -> None:
    (aside := disk.with_name("aside")).mkdir()
    for file in disk.iterdir():
        file.rename(aside / file.name)


def filled_again(disk: Path) -> None:
    aside = disk.with_name("aside")
    for file in aside.iterdir():
        file.rename(disk / file.name)
    aside.rmdir()


def renamed(disk: Path) -> None:
    disk.rename(disk.with_name("aside"))


def renamed_back(disk: Path) -> None:
    disk.with_name("aside").rename(disk)


def unmounted(disk: Path) -> None:
    """What is left is the mount point, an empty folder."""
    renamed(disk)
    disk.mkdir()


def mounted_again(disk: Path) -> None:
    disk.rmdir()
    renamed_back(disk)


def linked_elsewhere(disk: Path) -> None:
    (other := disk.with_name("other")).mkdir()
    turn(disk.with_name("dags"), other)


def linked_back(disk: Path) -> None:
    turn(disk.with_name("dags"), disk)
    disk.with_name("other").rmdir()


def turn(link: Path, target: Path) -> None:
    draft = link.with_name("draft")
    draft.symlink_to(target.name)
    draft.rename(link)


@pytest.mark.parametrize(
    ("vanish", "return_"),
    [
        (emptied, filled_again),
        (renamed, renamed_back),
        (unmounted, mounted_again),
        (linked_elsewhere, linked_back),
    ],
)
def test_a_folder_that_vanishes_takes_nothing_along(
    mounted: ServiceCluster, vanish: Callable[[Path], None], return_: Callable[[Path], None]
) -> None:
    parser, disk = mounted.member("parser-1"), mounted.dags.with_name("disk")
    said, before = parser.logged().count("action=keep_stored bundle=dags"), versions(mounted)

    with parser.paused():  # or it might see one file go after the other
        vanish(disk)
    mounted.until(
        lambda _: parser.logged().count("action=keep_stored bundle=dags") > said, "the loss noticed"
    )
    assert active(mounted) == NAMES
    assert tasks_of_a_run(mounted, "dag_3") == ["only"]

    with parser.paused():
        return_(disk)
    look_around(mounted)
    assert active(mounted) == NAMES
    assert versions(mounted) == before


@pytest.mark.parametrize("count", [5, 8])
def test_files_that_are_lost_together_for_a_moment_keep_their_dags(
    mounted: ServiceCluster, count: int
) -> None:
    parser, before = mounted.member("parser-1"), versions(mounted)
    lost = {mounted.dags / f"{name}.py": dag(name) for name in NAMES[:count]}
    with parser.paused():
        for file in lost:
            file.unlink()
    look_around(mounted)
    assert active(mounted) == NAMES

    for file, source in lost.items():  # not at once, as a copy takes its time
        file.write_text(source)
        look_around(mounted)
        assert active(mounted) == NAMES
    assert versions(mounted) == before


def test_files_that_are_lost_together_for_good_lose_their_dags(mounted: ServiceCluster) -> None:
    with mounted.member("parser-1").paused():
        for name in NAMES[:6]:
            (mounted.dags / f"{name}.py").unlink()
    wait_until_active(mounted, *NAMES[6:])

    for name in NAMES[:6]:
        (mounted.dags / f"{name}.py").write_text(dag(name))
    wait_until_active(mounted, *NAMES)


def test_a_file_that_an_editor_empties_first_keeps_its_dag(mounted: ServiceCluster) -> None:
    file, before = mounted.dags / "dag_2.py", versions(mounted)
    file.write_text("")
    look_around(mounted)
    assert active(mounted) == NAMES
    file.write_text(dag("dag_2"))
    look_around(mounted)
    assert (active(mounted), versions(mounted)) == (NAMES, before)

    file.write_text("")  # for good
    wait_until_active(mounted, *NAMES[:2], *NAMES[3:])
    file.write_text(dag("dag_2"))
    wait_until_active(mounted, *NAMES)
    assert versions(mounted) == before


def test_an_edit_is_in_force_by_its_event_alone(database_url: str, tmp_path: Path) -> None:
    check_edits(database_url, tmp_path, HEADWAY_PARSER_DAG_DIR_LIST_INTERVAL="3600")


def test_an_edit_is_in_force_by_the_listing_alone(database_url: str, tmp_path: Path) -> None:
    check_edits(database_url, tmp_path, HEADWAY_PARSER_WATCH_FILES="false")


def check_edits(url: str, root: Path, **given: str) -> None:
    """A new file, an edit, an edit of a helper, and the end of a file are all noticed."""
    for name in ("one", "two"):
        (root / name / "package").mkdir(parents=True)
    (root / "dags").symlink_to("one")
    with service_cluster(url, root, given) as cluster:
        cluster.start("parser")
        folder = cluster.dags
        (folder / "canary.py").write_text(dag("canary"))
        cluster.wait_for_version("canary")
        (folder / "package" / "words.py").write_text("WORD = 'old'\n")
        importing = "from package.words import WORD\n" + dag("edited")
        (folder / "edited.py").write_text(importing)
        cluster.wait_for_version("edited")
        (folder / "edited.py").write_text(importing + "# edited\n")
        cluster.wait_for_version("edited", 2)
        (folder / "package" / "words.py").write_text("WORD = 'new'\n")
        cluster.wait_for_version("edited", 3)
        (folder / "edited.py").unlink()
        wait_until_active(cluster, "canary")

        (root / "two" / "canary.py").write_text(dag("canary", "elsewhere"))
        turn(folder, root / "two")
        cluster.wait_for_version("canary", 2)
        (root / "two" / "canary.py").write_text(dag("canary", "again"))
        cluster.wait_for_version("canary", 3)
