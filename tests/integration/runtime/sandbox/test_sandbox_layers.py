"""What each layer of the sandbox stops by itself, without the others."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from headway.runtime.forker import Forker
from headway.runtime.processes.linux import become_dumpable, become_undumpable, is_dumpable
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing.processes import sandboxes
from headway.testing.processes.sandboxes import EVERY, LONG, WEAK, outcomes, spawn

HERE = Path(__file__).parents[2]
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def start(layers: Iterable[Layer], sandbox: Sandbox | None = None) -> Forker:
    return sandboxes.start(layers, HERE, ENVIRONMENT, sandbox or Sandbox())


@pytest.fixture(scope="module")
def landlocked() -> Iterator[Forker]:
    with start({Layer.LANDLOCK, Layer.PRIVILEGES}) as forker:
        assert forker.isolation is not None
        if Layer.LANDLOCK not in forker.isolation.in_force:
            pytest.skip(forker.isolation.missing[Layer.LANDLOCK])
        yield forker


def namespaces_are_allowed() -> bool:
    """Whether another program can make a namespace with a /proc of its own."""
    program = shutil.which("unshare")
    who = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = [program or "", *who, "--pid", "--fork", "--mount-proc", "true"]
    return program is not None and subprocess.run(command, check=False).returncode == 0


@pytest.fixture(scope="module")
def namespaced() -> Iterator[Forker]:
    with start({Layer.NAMESPACE, Layer.PROC}) as forker:
        assert forker.isolation is not None
        if not forker.isolation.in_force and not namespaces_are_allowed():
            pytest.skip(forker.isolation.missing[Layer.NAMESPACE])
        assert forker.isolation.in_force == {Layer.NAMESPACE, Layer.PROC}
        yield forker


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A folder of DAGs with a home of Headway in it, and in that a checkout of DAGs."""
    for path in ("dag.py", "home/secret", "home/checkout/dag.py", "home/checkout/key"):
        file = tmp_path / "bundle" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("content")
    return tmp_path / "bundle"


def sandbox_of(bundle: Path) -> Sandbox:
    home = bundle / "home"
    return Sandbox(
        readable=(str(bundle), str(home / "checkout")),
        hidden=(str(home), str(home / "checkout/key")),
    )


def test_landlock_hides_what_is_hidden_in_what_may_be_read(
    landlocked: Forker, bundle: Path
) -> None:
    paths = ("dag.py", "home/secret", "home/checkout/dag.py", "home/checkout/key")
    attempts = [("read", str(bundle / path)) for path in paths]

    found = outcomes(landlocked, *attempts, ("listing", str(bundle)), sandbox=sandbox_of(bundle))

    assert found[:4] == ["read content", "EACCES", "read content", "EACCES"]
    assert found[4] == ["dag.py", "home"]


def test_a_file_that_comes_later_beside_something_hidden_is_found(
    landlocked: Forker, bundle: Path
) -> None:
    sandbox = sandbox_of(bundle)
    outcomes(landlocked, ("read", str(bundle / "dag.py")), sandbox=sandbox)

    (bundle / "later.py").write_text("later")

    assert outcomes(landlocked, ("read", str(bundle / "later.py")), sandbox=sandbox) == [
        "read later"
    ]


def test_a_folder_that_is_swapped_is_followed(landlocked: Forker, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dag.py").write_text(name)
    current = tmp_path / "current"
    current.symlink_to("old")
    sandbox = Sandbox(readable=(str(current),))
    look = ("read", str(current / "dag.py"))
    assert outcomes(landlocked, look, sandbox=sandbox) == ["read old"]

    current.unlink()
    current.symlink_to("new")

    assert outcomes(landlocked, look, sandbox=sandbox) == ["read new"]


def test_landlock_lets_nothing_be_written_but_in_scratch(landlocked: Forker, bundle: Path) -> None:
    (found,) = outcomes(landlocked, ("host_environment",))
    attempts = [
        ("write", str(bundle / "new.py")),
        ("write", str(Path.home() / "headway-test")),
        ("write", "/tmp/headway-test"),
        ("write", "/dev/shm/headway-test"),
        ("append", str(bundle / "dag.py")),
        ("append", "/proc/sys/kernel/core_pattern"),
        ("append", "/etc/passwd"),
        ("append", os.__file__),
    ]

    assert outcomes(landlocked, *attempts, sandbox=sandbox_of(bundle)) == ["EACCES"] * 8
    assert outcomes(landlocked, ("write", found["scratch"] + "/a"), ("write", "/dev/null")) == [
        "written",
        "written",
    ]


@pytest.mark.parametrize("path", ["/etc/shadow", "/root", "/home", "/tmp", "/var", "/run", "/"])
def test_landlock_lets_nothing_be_read_but_what_is_needed(landlocked: Forker, path: str) -> None:
    assert outcomes(landlocked, ("listing" if Path(path).is_dir() else "read", path)) == ["EACCES"]


@pytest.fixture
def victim() -> Iterator[int]:
    """A process that a user may look into, which this one is not after some tests."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        yield process.pid
        assert process.poll() is None
        process.kill()


def test_landlock_stops_what_reaches_into_others(landlocked: Forker, victim: int) -> None:
    pid = victim
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0headway-test-{pid}")
        unix.listen()
        attempts = [
            ("read", f"/proc/{pid}/environ"),
            ("raw", "ptrace", 16, pid, 0, 0),
            ("kill", pid, 0),
            ("connect", int(socket.AF_INET), int(socket.SOCK_STREAM), list(tcp.getsockname())),
            ("connect", int(socket.AF_UNIX), int(socket.SOCK_STREAM), f"\0headway-test-{pid}"),
        ]
        found = outcomes(landlocked, *attempts)

    assert found[:2] == ["EACCES", "EPERM"]
    version = found[2:]
    assert version == ["EPERM", "EACCES", "EPERM"]


def test_in_a_namespace_nobody_else_is_there(namespaced: Forker) -> None:
    found, sent, reached = outcomes(
        namespaced, ("host_environment",), ("kill", os.getpid(), signal.SIGKILL), ("kill_parent",)
    )

    assert found["pid"] > 1
    assert set(found["processes"]) == {1, found["pid"]}
    assert sent == "ESRCH"
    assert reached == "sent"  # and nothing comes of it: process 1 does not die by its own


def test_all_of_a_namespace_end_with_its_nanny(namespaced: Forker) -> None:
    child = spawn(namespaced, "attempt", attempts=[["daemon"]], stay=True)
    nanny = only_child_of(namespaced.pid, with_children=True)
    family = children_of(nanny)
    assert len(family) == 2

    os.kill(nanny, signal.SIGKILL)

    end = child.wait(LONG)
    assert end is not None
    assert end.lost == "Its nanny died, and the child was killed."
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []
    child.close()


def children_of(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def only_child_of(parent: int, *, with_children: bool) -> int:
    found: list[int] = []
    for _ in range(1000):
        found = [pid for pid in children_of(parent) if len(children_of(pid)) == 2]
        if found:
            break
    (nanny,) = found
    return nanny


UNPRIVILEGED = """
import json, os, sys
from pathlib import Path
from headway.runtime.processes.linux import become_undumpable
from headway.runtime.sandbox import Sandbox, privileges
from headway.testing.processes import sandboxes
privileges.drop_bounding_set()
privileges.renounce()
if sys.argv[2] == "undumpable":
    become_undumpable()
forker = sandboxes.start(sandboxes.WEAK, Path(sys.argv[1]), dict(os.environ), Sandbox())
paths = [f"/proc/{pid}/{what}" for pid in (os.getpid(), forker.pid) for what in ("environ", "maps")]
attempts = [*(("read", path) for path in paths), ("read_of_parent", "environ"),
            ("read_of_parent", "maps")]
print(json.dumps(sandboxes.outcomes(forker, *attempts)))
forker.close()
"""


def told_of_family(supervisor: str) -> list[str]:
    """What a child with nothing but the least layers reads of supervisor, forker and nanny.

    None of them has a capability, which would protect it from those who have none.
    """
    command = [sys.executable, "-c", UNPRIVILEGED, str(HERE), supervisor]
    told: list[str] = json.loads(subprocess.check_output(command, env=ENVIRONMENT, timeout=60))
    return told


def test_undumpable_is_all_that_the_same_user_is_kept_out_by() -> None:
    assert told_of_family("undumpable") == ["EACCES"] * 6

    supervisor, forker_and_nanny = told_of_family("dumpable")[:2], told_of_family("dumpable")[2:]
    assert all(each.startswith("read") for each in supervisor)
    assert forker_and_nanny == ["EACCES"] * 4


def test_a_debugger_of_root_may_look_all_the_same() -> None:
    program = (
        "from headway.runtime.processes.linux import become_undumpable; become_undumpable();"
        "print('ready', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SECRET": "s3cret"},
    ) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        environment = Path(f"/proc/{daemon.pid}/environ")
        if os.geteuid() == 0:
            assert b"s3cret" in environment.read_bytes()
        else:
            with pytest.raises(PermissionError):
                environment.read_bytes()
        daemon.kill()


def test_what_is_missing_is_said_with_its_reason() -> None:
    with start(WEAK) as forker:
        assert forker.isolation is not None
        said = forker.isolation.describe()

    assert forker.isolation.in_force == WEAK
    assert said.startswith("DAG files are parsed as the same user (it was left out on request)")
    assert "without network." in said
    assert "There is not Landlock: it was left out on request." in said


def test_network_means_tcp_and_no_unix_sockets() -> None:
    sandbox = Sandbox(network=True)
    with (
        start(EVERY, sandbox) as forker,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        unix.bind(f"\0headway-network-{os.getpid()}")
        unix.listen()
        found = outcomes(
            forker,
            ("connect", int(socket.AF_INET), int(socket.SOCK_STREAM), list(tcp.getsockname())),
            ("connect", int(socket.AF_UNIX), int(socket.SOCK_STREAM), unix.getsockname()[1:]),
            sandbox=sandbox,
        )

    assert found == ["connected", "EACCES"]


SCRIPT = """
import json, os, sys
from pathlib import Path
from headway.runtime.sandbox import Sandbox
from headway.testing.processes import sandboxes
forker = sandboxes.start(sandboxes.EVERY, Path(sys.argv[1]), dict(os.environ), Sandbox())
attempts = [("host_environment",), ("capabilities",), ("kill", os.getpid(), 0),
            ("read", f"/proc/{os.getpid()}/environ"), ("daemon",)]
print(json.dumps((forker.isolation.to_frame(), sandboxes.outcomes(forker, *attempts))))
forker.close()
"""


def public_python() -> str:
    """An interpreter of this version that every user can run."""
    for name in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        path = Path(name).resolve()
        open_to_all = path.exists() and all(p.stat().st_mode & 0o005 == 5 for p in path.parents)
        if open_to_all and path.name == f"python3.{sys.version_info.minor}":
            return str(path)
    pytest.skip("there is no interpreter of this version that every user can run")


def run_as(user: int, script: str = SCRIPT) -> Any:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    library = Path(msgpack.__file__).parents[1]
    paths = [HERE.parents[1] / "shared", library]
    told = subprocess.run(
        [public_python(), "-c", script, str(HERE)],
        env={"PYTHONPATH": ":".join(map(str, paths)), "PATH": os.environ["PATH"]},
        cwd="/",
        user=user,
        group=user,
        extra_groups=[4],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    return json.loads(told)


def test_root_becomes_another_user_that_can_read_the_interpreter() -> None:
    isolation, (found, capabilities, killed, read, _) = run_as(0)

    assert isolation["user"] == "nobody"
    assert Layer.USER in isolation["in_force"]
    assert found["user"] not in (0, os.geteuid())
    assert found["groups"] == []
    assert int(str(capabilities["CapBnd"]), 16) == 0
    assert str(killed) in ("ESRCH", "EPERM")
    assert str(read) in ("ENOENT", "EACCES")


PRIVATE = """
import json, os, sys, tempfile
from pathlib import Path
from headway.runtime.sandbox import Sandbox
from headway.testing.processes import sandboxes
forker = sandboxes.start(sandboxes.EVERY, Path(sys.argv[1]), dict(os.environ), Sandbox())
with tempfile.TemporaryDirectory() as private:
    users = []
    for sandbox in (Sandbox(), Sandbox(readable=(private,)), Sandbox(), Sandbox(user=None)):
        (found,) = sandboxes.outcomes(forker, ("host_environment",), sandbox=sandbox)
        users.append(found["user"])
print(json.dumps(users))
forker.close()
"""


def test_who_cannot_read_a_folder_of_dags_is_not_become_for_it() -> None:
    nobody, root, nobody_again, root_again = run_as(0, PRIVATE)

    assert nobody == nobody_again != 0
    assert root == root_again == 0


ORPHANED = """
import json, os, signal, sys, time
from pathlib import Path
from headway.runtime.processes.frames import receive_frame
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing.processes import sandboxes
layers = sandboxes.EVERY - {Layer.NAMESPACE, Layer.PROC}
forker = sandboxes.start(layers, Path(sys.argv[1]), dict(os.environ), Sandbox())
child = sandboxes.spawn(forker, "attempt", attempts=[["host_environment"]], stay=True)
found = receive_frame(child.channel)["told"][0]
pid = found["pid"]
nanny = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
os.kill(forker.pid, signal.SIGSTOP)
os.kill(nanny, signal.SIGKILL)
time.sleep(1)
state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
os.kill(forker.pid, signal.SIGCONT)
print(json.dumps([found, state, child.wait(20).lost]))
forker.close()
"""


def test_a_child_that_is_another_user_dies_with_its_nanny_too() -> None:
    found, state, lost = run_as(0, ORPHANED)

    assert found["user"] != 0
    assert state == "Z"
    assert lost == "Its nanny died, and the child was killed."


def test_sandboxes_take_turns_at_one_nanny(landlocked: Forker, bundle: Path) -> None:
    paths = ("dag.py", "home/checkout/dag.py")
    for count in range(22):
        sandbox = Sandbox(readable=(str(bundle / paths[count % 2]),), processes=100 + count // 2)
        attempts = [
            ("read", str(bundle / path)) for path in (paths[count % 2], paths[1 - count % 2])
        ]
        assert outcomes(landlocked, *attempts, sandbox=sandbox) == ["read content", "EACCES"]
    for nanny in children_of(landlocked.pid):
        assert len(list(Path(f"/proc/{nanny}/fd").iterdir())) < 20


def test_without_privileges_a_user_namespace_makes_the_others_possible() -> None:
    user = 12345
    isolation, (found, capabilities, killed, read, _) = run_as(user)

    missing = isolation["missing"]
    assert isinstance(missing, dict)
    if Layer.NAMESPACE in missing:
        pytest.skip(missing[Layer.NAMESPACE])
    assert missing[Layer.USER] == "only root can become another user"
    assert found["user"] == user
    assert int(str(capabilities["CapBnd"]), 16) == 0
    assert str(killed) == "ESRCH"
    assert str(read) in ("ENOENT", "EACCES")


def test_dumpable_again_for_the_rest_of_the_session() -> None:
    become_undumpable()
    assert not is_dumpable()
    become_dumpable()
    assert is_dumpable()
