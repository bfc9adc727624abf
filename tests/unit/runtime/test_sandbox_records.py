from collections.abc import Callable
from pathlib import Path

import pytest

from headway.runtime.forker import ChildSpec
from headway.runtime.processes.frames import HEADER, encode_frame
from headway.runtime.sandbox import Isolation, Layer, Sandbox
from headway.runtime.sandbox.allowed import allowed
from headway.runtime.sandbox.scratch import empty, make, remove
from headway.serialization.decoding import decode

Touch = Callable[..., None]


@pytest.fixture
def touch(tmp_path: Path) -> Touch:
    def create(*paths: str) -> None:
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()

    return create


def test_a_sandbox_travels_with_its_spec() -> None:
    sandbox = Sandbox(readable=("/a",), hidden=("/b",), network=True, processes=3, user=None)
    spec = ChildSpec(target="a.b:c", sandbox=sandbox)

    assert ChildSpec.from_frame(decode(encode_frame(spec.to_frame())[HEADER.size :])) == spec


def test_an_account_of_isolation_travels() -> None:
    isolation = Isolation("nobody", frozenset({Layer.USER}), {Layer.SECCOMP: "no"}, network=True)

    frame = decode(encode_frame(isolation.to_frame())[HEADER.size :])

    assert Isolation.from_frame(frame) == isolation


def test_isolation_is_described() -> None:
    missing = {Layer.USER: "nobody cannot read /root", Layer.LANDLOCK: "No such system call"}
    isolation = Isolation("root", frozenset(Layer) - missing.keys(), missing)

    assert isolation.describe() == (
        "DAG files are parsed as the same user (nobody cannot read /root), in a PID namespace, "
        "with a /proc of its own, with limits of resources, without capabilities, without network. "
        "There is not Landlock: No such system call."
    )
    assert Isolation("nobody", frozenset({Layer.USER, Layer.SECCOMP}), network=True).describe(
        "It is run"
    ) == ("It is run as nobody.")


def test_without_anything_hidden_whole_trees_are_allowed(tmp_path: Path, touch: Touch) -> None:
    touch("a/x")

    found = allowed([], [str(tmp_path / "a")], [])

    assert found.trees == (str(tmp_path / "a"),)
    assert found.listed == ()


def test_what_lies_beside_something_hidden_is_allowed_one_by_one(
    tmp_path: Path, touch: Touch
) -> None:
    touch("a/x", "a/b/y", "a/b/home/secret", "a/b/home/checkout/dag.py", "a/b/home/checkout/key")
    (tmp_path / "a/link").symlink_to("b/home")
    root = tmp_path / "a"
    readable = [str(root), str(root / "b/home/checkout")]
    hidden = [str(root / "b/home"), str(root / "b/home/checkout/key")]

    found = allowed([], readable, hidden)

    assert set(found.trees) == {str(root / p) for p in ("x", "b/y", "b/home/checkout/dag.py")}
    assert set(found.listed) == {str(root), str(root / "b"), str(root / "b/home/checkout")}


def test_what_is_hidden_by_name_is_hidden_even_if_it_is_readable_by_name(
    tmp_path: Path, touch: Touch
) -> None:
    touch("a/x")
    folder = str(tmp_path / "a")

    assert allowed([folder], [folder], [folder]).trees == ()


def test_a_name_like_that_of_something_hidden_is_another(tmp_path: Path, touch: Touch) -> None:
    touch("homework/x", "home/secret")

    found = allowed([], [str(tmp_path / "homework")], [str(tmp_path / "home")])

    assert found.trees == (str(tmp_path / "homework"),)


def test_something_hidden_that_is_not_there_yet_stays_hidden_when_it_comes(
    tmp_path: Path, touch: Touch
) -> None:
    touch("a/x")
    found = allowed([], [str(tmp_path / "a")], [str(tmp_path / "a/config")])
    assert found.trees == (str(tmp_path / "a/x"),)
    assert found.holds()

    touch("a/config")

    assert not found.holds()


def test_scratch_is_emptied_whatever_lies_in_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    folder = make(tmp_path)
    (folder / "shut/in/deep").mkdir(parents=True)
    (folder / "shut/in/file").touch()
    (folder / "link").symlink_to(tmp_path)
    (folder / "shut").chmod(0)
    folder.chmod(0)

    empty(folder)

    assert list(folder.iterdir()) == []
    assert kept.exists()
    remove(folder)
    remove(folder)
    assert not folder.exists()
