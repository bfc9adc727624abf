"""What untrusted code cannot do, with all layers and with those that every Linux has."""

import os
import select
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.integration.sandbox_targets import capabilities

from headway.runtime.forker import ChildLimits, ChildSpec, Exit, Forker, ForkerError
from headway.runtime.forker.peer import ChildForker
from headway.runtime.processes.frames import receive_frame
from headway.runtime.processes.linux import become_dumpable, become_undumpable
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.processes import sandboxes
from headway.testing.processes.sandboxes import EVERY, LONG, WEAK, outcomes, spawn


def start(layers: Iterable[Layer]) -> Forker:
    environment = {"PATH": os.environ["PATH"]}
    return sandboxes.start(layers, Path(__file__).parents[2], environment, Sandbox())


@pytest.fixture(scope="module", params=["all", "weak", "within all", "within weak"])
def forker(request: pytest.FixtureRequest) -> Iterator[Forker]:
    """One forker with all layers, one with the same user, no namespace and no Landlock.

    And the same two where a child of theirs is the forker, as a bundle's is.
    """
    become_undumpable()  # as every daemon does
    within, _, layers = request.param.rpartition(" ")
    with start(EVERY if layers == "all" else WEAK) as started:
        assert started.isolation is not None
        assert started.isolation.in_force >= WEAK
        yield sandboxes.within(started) if within else started
    become_dumpable()


@pytest.fixture
def strong(forker: Forker) -> bool:
    assert forker.isolation is not None
    return Layer.LANDLOCK in forker.isolation.in_force


@pytest.fixture
def within(forker: Forker) -> bool:
    """Whether the forker is confined itself."""
    return isinstance(forker._peer, ChildForker)


def below(forker: Forker) -> list[str]:
    """The processes that descend from a forker and are more than its nannies."""
    is_within = isinstance(forker._peer, ChildForker)  # this one > forker > nanny > it > nanny
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[entry.name] = fields[1]
    found = {str(os.getpid())}
    for _ in range(5 if is_within else 3):
        found = {pid for pid, parent in parents.items() if parent in found}
    return sorted(found)


@pytest.mark.parametrize("what", ["environ", "mem", "maps", "auxv"])
def test_secrets_of_supervisor_and_forker_cannot_be_read(forker: Forker, what: str) -> None:
    paths = [f"/proc/{pid}/{what}" for pid in (os.getpid(), forker.pid)]

    assert set(outcomes(forker, *(("read", path) for path in paths))) <= {"EACCES", "ENOENT"}


def test_open_files_of_supervisor_and_forker_cannot_be_opened(forker: Forker) -> None:
    """As root, their numbers can be, and nothing more."""
    paths = [f"/proc/{pid}/fd/{number}" for pid in (os.getpid(), forker.pid) for number in (0, 1)]
    attempts = [(how, path) for how in ("read", "link", "append") for path in paths]

    assert set(outcomes(forker, *attempts)) <= {"EACCES", "ENOENT"}


def test_supervisor_and_forker_cannot_be_traced(forker: Forker) -> None:
    attach, seize = 16, 0x4206
    for pid in (os.getpid(), forker.pid):
        found = outcomes(
            forker, ("raw", "ptrace", attach, pid, 0, 0), ("raw", "ptrace", seize, pid)
        )
        assert found == ["EPERM", "EPERM"]


@pytest.mark.parametrize(
    "call",
    [
        ("process_vm_readv", 1, 0, 0, 0, 0, 0),
        ("process_vm_writev", 1, 0, 0, 0, 0, 0),
        ("unshare", 0x10000000),
        ("setns", 0, 0),
        ("pivot_root", 0, 0),
        ("umount2", 0, 0),
        ("syscall", 425, 1, 0),  # io_uring_setup
        ("syscall", 438, 0, 0, 0),  # pidfd_getfd
        ("shmget", 0, 4096, 0o1600),
        ("ioctl", 1, 0x5412, 0),
    ],
    ids=lambda call: "-".join(map(str, call[:2])),
)
def test_dangerous_calls_are_refused(forker: Forker, call: tuple[object, ...]) -> None:
    assert outcomes(forker, ("raw", *call)) == ["EPERM"]


@pytest.mark.regression
def test_nothing_of_a_file_can_be_changed_that_its_account_owns(
    forker: Forker, tmp_path: Path, strong: bool
) -> None:
    """Landlock lets who may read a file change its mode: the filter of system calls does not."""
    if strong:  # what such a child may read belongs to it nowhere but in its scratch folder
        owned = Path(outcomes(forker, ("host_environment",))[0]["scratch"]) / "owned"
        before: list[tuple[object, ...]] = [("write", str(owned))]
    else:
        owned = tmp_path / "database-url"
        owned.write_text("secret")
        os.setxattr(owned, "user.kept", b"x")
        before = []
    ways = [
        *("chmod", "fchmod", "fchmodat", "set-uid", "chown", "fchown", "lchown"),
        *("utime", "futimens", "utimensat"),
        *("setxattr", "fsetxattr", "lsetxattr", "removexattr", "flags"),
    ]
    found = outcomes(forker, *before, *(("change", how, str(owned)) for how in ways))

    assert found[len(before) :] == ["EPERM"] * len(ways)
    if not strong:
        assert os.listxattr(owned) == ["user.kept"]


@pytest.mark.regression
def test_no_program_is_made_that_runs_as_the_account(forker: Forker) -> None:
    assert outcomes(forker, ("make_set_id",)) == ["EPERM"]


def test_what_dag_files_do_with_files_in_their_scratch_folder_works(forker: Forker) -> None:
    assert outcomes(forker, ("everyday", __file__)) == ["done"]


def test_nothing_can_be_mounted_and_no_namespace_made(forker: Forker) -> None:
    assert outcomes(forker, ("mount",), ("clone_user_namespace",)) == ["EPERM", "EPERM"]


def test_nobody_can_be_reached_over_a_socket(forker: Forker, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        attempts = [
            ("connect", int(socket.AF_INET), int(socket.SOCK_STREAM), list(tcp.getsockname())),
            ("connect", int(socket.AF_UNIX), int(socket.SOCK_STREAM), path),
            ("connect", int(socket.AF_INET), int(socket.SOCK_DGRAM), ["127.0.0.1", 9]),
        ]
        assert outcomes(forker, *attempts) == ["EACCES"] * 3
        assert select.select([tcp, unix], [], [], 0)[0] == []


def told_of_login(forker: Forker, url: str) -> str:
    child = spawn(forker, "log_in", url=url.replace("+psycopg2", ""))
    told = receive_frame(child.channel)
    child.close()
    assert told is not None
    return str(told["told"])


def test_a_login_fails_even_with_the_password(forker: Forker, postgres: ThrowawayPostgres) -> None:
    assert told_of_login(forker, postgres.url) != "logged in"


def test_it_is_the_filter_that_a_login_fails_by(postgres: ThrowawayPostgres) -> None:
    with start(WEAK - {Layer.SECCOMP}) as without:
        assert told_of_login(without, postgres.url) == "logged in"


def test_pairs_of_streams_are_all_that_is_left_of_sockets(forker: Forker) -> None:
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)

    assert outcomes(forker, *(("pair", int(kind)) for kind in kinds)) == [
        "paired",
        "EACCES",
        "EACCES",
    ]


def test_no_capability_is_held_and_none_is_gained_by_a_program(forker: Forker) -> None:
    own, of_a_program = outcomes(forker, ("capabilities",), ("capabilities_of_a_program",))

    for found in (own, of_a_program):
        assert {int(found[name], 16) for name in found if name.startswith("Cap")} == {0}
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


def test_nobody_else_can_be_become(forker: Forker) -> None:
    assert outcomes(forker, ("become", 1), ("become", 4711)) == ["EPERM", "EPERM"]


def test_home_is_nowhere_and_scratch_is_gone_in_the_end(forker: Forker) -> None:
    (found,) = outcomes(forker, ("host_environment",))

    assert found["home"] == "/nonexistent"
    assert found["scratch_is_empty"]
    assert found["oom"] == 1000
    assert outcomes(forker, ("write", found["scratch"] + "/left")) == ["written"]
    assert not list(Path(found["scratch"]).glob("*"))


def test_a_tree_that_no_path_can_name_is_removed(forker: Forker, within: bool) -> None:
    """A nanny that is confined itself cannot remove it, and is given up: the next has another."""
    if within:
        child = spawn(forker, "attempt", attempts=[["fill_scratch"]])
        assert receive_frame(child.channel) is not None
        assert child.wait(LONG) == Exit(lost="Its nanny died, and the child was killed.")
        child.close()
        assert outcomes(forker, ("host_environment",))[0]["scratch_is_empty"]
        return
    (folder,) = outcomes(forker, ("fill_scratch",))

    assert list(Path(folder).iterdir()) == []
    assert outcomes(forker, ("host_environment",))[0]["scratch_is_empty"]


def test_a_file_cannot_grow_large_and_limits_cannot_be_raised(forker: Forker, within: bool) -> None:
    most = Sandbox().file_bytes if within else 2**20  # the limit of who forks it holds for it, too
    sandbox = Sandbox(file_bytes=2**20)
    found = outcomes(
        forker,
        ("raise_limits",),
        ("write_much", 2 * most),
        ("open_many",),
        ("grab", 2**31),
        sandbox=sandbox,
        limits=ChildLimits(open_files=64, address_space_bytes=2**30),
    )

    assert found == ["refused", "EFBIG", "EMFILE", "MemoryError"]


def test_a_fork_bomb_is_killed_and_named(forker: Forker) -> None:
    child = spawn(forker, "fork_bomb", Sandbox(processes=20))
    assert receive_frame(child.channel) is not None

    end = child.wait(LONG)

    assert end is not None
    assert end.lost is None
    assert end.exceeded == "20 processes and threads"
    assert below(forker) == []
    child.close()


def test_threads_count_as_processes(forker: Forker) -> None:
    child = spawn(forker, "thread_bomb", Sandbox(processes=20), threads=40)

    end = child.wait(LONG)

    assert end is not None
    assert end.lost is None
    assert end.exceeded == "20 processes and threads"
    child.close()


def test_a_daemon_dies_with_its_child(forker: Forker) -> None:
    outcomes(forker, ("daemon",))

    assert below(forker) == []


def test_what_a_killed_child_has_left_is_gone(forker: Forker) -> None:
    child = spawn(forker, "attempt", attempts=[["daemon"], ["host_environment"]], stay=True)
    told = receive_frame(child.channel)
    assert told is not None

    child.kill()
    end = child.wait(LONG)

    assert end is not None
    assert end.signal == signal.SIGKILL
    assert below(forker) == []
    assert list(Path(told["told"][1]["scratch"]).iterdir()) == []
    child.close()


def test_who_kills_its_nanny_kills_itself_at_most(forker: Forker, strong: bool) -> None:
    (found,) = outcomes(forker, ("host_environment",))  # by the nanny that raises the next, too
    child = spawn(forker, "attempt", attempts=[["kill_parent"], ["host_environment"]])
    end = child.wait(LONG)

    assert end is not None
    if strong:
        assert end.succeeded
    else:
        assert end.lost == "Its nanny died, and the child was killed."
        assert not Path(found["scratch"]).exists()
    assert below(forker) == []
    child.close()
    assert outcomes(forker, ("host_environment",))[0]["scratch_is_empty"]


def test_nannies_are_not_shared_with_children_that_are_not_sandboxed(
    forker: Forker, within: bool
) -> None:
    """A nanny of sandboxed children has bequeathed to them what others must not inherit."""
    own = outcomes(forker, ("capabilities",))[0] if within else capabilities()
    for _ in range(2):
        assert outcomes(forker, ("raw", "getpid"))
        spec = ChildSpec(
            target="sandbox_targets:attempt", argument={"attempts": [["capabilities"]]}
        )
        child = forker.spawn(spec, 2)
        told = receive_frame(child.channel)
        assert child.wait(LONG) == Exit(code=0)
        child.close()
        assert told is not None
        assert told["told"] == [own]


def test_when_the_forker_ends_no_folder_is_left() -> None:
    for layers in (EVERY, WEAK):
        forker = start(layers)
        (found,) = outcomes(forker, ("host_environment",))
        home = Path(found["scratch"]).parent
        assert home.exists()
        forker.close()
        assert not home.exists()


def test_when_forker_or_nanny_are_killed_no_folder_is_left() -> None:
    forker = start(EVERY)
    (found,) = outcomes(forker, ("host_environment",))
    home = Path(found["scratch"]).parent

    os.kill(forker.pid, signal.SIGKILL)

    deadline = time.monotonic() + LONG
    while home.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not home.exists()
    forker.close()


def test_a_child_that_cannot_be_confined_does_not_run() -> None:
    """A forker that knows nothing of sandboxes refuses, before anything is started."""
    with Forker.start([], {}) as forker, pytest.raises(ForkerError, match="not started for"):
        spawn(forker, "attempt", attempts=[])
