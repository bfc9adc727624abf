"""What a child finds when it is called, and how its end is told."""

import os
import selectors
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from socket import SHUT_WR

import pytest

from headway.domain.errors import SerializationError
from headway.runtime.forker import Child, ChildLimits, ChildSpec, Exit, Forker
from headway.runtime.processes.frames import Frame, receive_frame

LONG = 20.0
AUTOGROUP = Path("/proc/self/autogroup")
Run = Callable[[ChildSpec], Child]


@pytest.fixture(scope="module")
def forker() -> Iterator[Forker]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    with Forker.start(["forker_targets"], environment) as started:
        yield started


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def run(forker: Forker, log: Path) -> Iterator[Run]:
    """Start a child of which the output goes to `log`, and let go of it at the end."""
    children = []

    def start(spec: ChildSpec) -> Child:
        with log.open("ab") as output:
            child = forker.spawn(spec, output.fileno())
        children.append(child)
        return child

    yield start
    for child in children:
        child.close()


def spec(function: str, **argument: object) -> ChildSpec:
    return ChildSpec(target=f"forker_targets:{function}", argument=argument)


def told(child: Child) -> Frame:
    frame = receive_frame(child.channel)
    assert frame is not None
    return frame


def test_sets_have_one_order_in_all_forkers(log: Path) -> None:
    """Whatever the environment says of hashes; six names have 720 orders."""
    found = []
    for seed in ("1", "2", "random"):
        environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": seed}
        with (
            Forker.start(["forker_targets"], environment) as forker,
            log.open("ab") as output,
            closing(forker.spawn(spec("order", names=list("abcdef")), output.fileno())) as child,
        ):
            found.append(told(child)["order"])

    assert found[0] == found[1] == found[2]


def test_a_target_that_returns_has_succeeded(run: Run) -> None:
    child = run(spec("echo", text="é", numbers=[1, 2]))

    assert told(child) == {"text": "é", "numbers": [1, 2]}
    assert child.wait(LONG) == Exit(code=0)
    assert receive_frame(child.channel) is None


@pytest.mark.parametrize(
    ("started", "end"),
    [
        (spec("leave", code=None), Exit(code=0)),
        (spec("leave", code=7), Exit(code=7)),
        (spec("leave", code=-1), Exit(code=255)),
        (spec("leave", code="why it failed"), Exit(code=1)),
        (spec("leave_at_once", code=9), Exit(code=9)),
        (spec("fail"), Exit(code=1)),
        (spec("crash"), Exit(signal=signal.SIGSEGV)),
        (spec("no_such_function"), Exit(code=1)),
        (ChildSpec(target="forker_targets:echo", directory="/nowhere"), Exit(code=1)),
    ],
    ids=lambda value: value.target if isinstance(value, ChildSpec) else None,
)
def test_an_end_is_told_as_it_was(run: Run, started: ChildSpec, end: Exit) -> None:
    assert run(started).wait(LONG) == end


@pytest.mark.parametrize(
    ("started", "says"),
    [
        (spec("fail"), "ValueError: a task's own error"),
        (spec("leave", code="why it failed"), "why it failed"),
        (spec("no_such_function"), "no_such_function"),
    ],
)
def test_the_log_says_why_a_child_failed(
    run: Run, log: Path, started: ChildSpec, says: str
) -> None:
    run(started).wait(LONG)

    assert says in log.read_text()


def test_all_output_is_in_the_log_and_nothing_of_atexit(run: Run, log: Path) -> None:
    run(spec("speak")).wait(LONG)

    text = log.read_text()
    assert "out é \\ud800" in text
    assert all(part in text for part in ("raw ", "from a program\n", "err"))
    assert "atexit" not in text


@pytest.mark.regression
def test_a_child_finds_a_clean_process(run: Run) -> None:
    child = run(
        ChildSpec(
            target="forker_targets:look_around",
            environment={"ASKED": "for"},
            directory="/usr",
            limits=ChildLimits(open_files=50, niceness=3),
        )
    )
    found = told(child)

    assert child.wait(LONG) == Exit(code=0)
    assert sorted(found["files"]) == [0, 1, 2, found["channel"]]
    assert str(found["channel"]) not in found["inherited"][:-1]
    assert found["stdin"] == ""
    assert found["directory"] == "/usr"
    assert found["umask"] == 0o022
    assert found["leads"] == [True, True]
    assert found["blocked"] == []
    assert found["terminate"] is found["child"] is True
    assert found["core"] == [0, 0]
    assert (found["open_files"], found["nice"]) == (50, os.nice(0) + 3)
    if AUTOGROUP.exists() and os.geteuid() == 0:  # others may change ten in a second, all in all
        assert found["autogroup"].endswith(f"nice {os.nice(0) + 3}")


def test_a_child_has_the_environment_that_was_given_and_no_other(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_URL", "postgresql://u:secret@db/headway")
    child = run(ChildSpec(target="forker_targets:look_around", environment={"ASKED": "for"}))

    names = set(told(child)["environment"]) - {"LC_CTYPE"}  # the interpreter's own addition
    assert names == {"PATH", "PYTHONPATH", "PYTHONHASHSEED", "ASKED"}


def test_a_child_gets_no_more_memory_than_allowed(run: Run, log: Path) -> None:
    limits = ChildLimits(address_space_bytes=2**30)
    child = run(
        ChildSpec(target="forker_targets:grab_memory", argument={"bytes": 2**31}, limits=limits)
    )

    assert child.wait(LONG) == Exit(code=1)
    assert "MemoryError" in log.read_text()


def test_an_argument_may_be_large(run: Run) -> None:
    child = run(spec("echo", text="x" * 3_000_000))

    assert len(told(child)["text"]) == 3_000_000


def test_what_is_no_data_is_refused_and_the_forker_lives_on(run: Run) -> None:
    with pytest.raises(SerializationError):
        run(spec("echo", value=object()))

    assert run(spec("echo")).wait(LONG) == Exit(code=0)


def test_one_selector_serves_two_hundred_children_and_no_descriptor_is_left(
    forker: Forker, log: Path, run: Run
) -> None:
    keep_nannies(run, 5)
    before = open_files(os.getpid())

    ends = run_many(forker, log, 200)

    assert ends == [Exit(code=0)] * 200
    assert open_files(os.getpid()) == before
    theirs = open_files(forker.pid)
    assert run_many(forker, log, 50) == [Exit(code=0)] * 50
    assert open_files(forker.pid) == theirs


def keep_nannies(run: Run, count: int) -> None:
    """Have as many idle nannies as there are ever children at a time."""
    children = [run(spec("wait_for_end")) for _ in range(count)]
    for child in children:
        child.channel.shutdown(SHUT_WR)
        assert child.wait(LONG) == Exit(code=0)
        child.close()


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def run_many(forker: Forker, log: Path, count: int) -> list[Exit]:
    """Run this many children, five at a time."""
    ends: list[Exit] = []
    with selectors.DefaultSelector() as selector, log.open("ab") as output:
        for started in range(count + 4):
            if started < count:
                child = forker.spawn(spec("echo"), output.fileno())
                selector.register(child, selectors.EVENT_READ, child)
            while len(ends) < min(started - 3, count):
                ends.extend(ended_in(selector))
    return ends


def ended_in(selector: selectors.BaseSelector) -> Iterator[Exit]:
    ready = selector.select(LONG)
    assert ready, "no child has ended"
    for key, _ in ready:
        end = key.data.poll()
        if end is not None:
            selector.unregister(key.fileobj)
            key.data.close()
            yield end


def test_what_a_preloaded_module_prints_is_in_no_childs_output(tmp_path: Path, log: Path) -> None:
    (tmp_path / "talks.py").write_text("print('Loading the model ...', end='')\n")
    folders = f"{tmp_path}:{Path(__file__).parents[2]}"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": folders}
    with (
        Forker.start(["talks", "forker_targets"], environment) as forker,
        log.open("ab") as output,
        closing(forker.spawn(spec("echo"), output.fileno())) as child,
    ):
        assert child.wait(LONG) == Exit(code=0)

    assert log.read_text() == ""
