"""An attempt that writes to the worker's folder of contents, around the check of another one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from socket import socket, socketpair

import pytest

from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.bundle.bundle_imports import importing
from headway.sdk.harness.loading import load_dag_file
from headway.testing.data.version_code import store
from headway_worker.protocol.supply import WorkerSupply

FILES = {
    "etl.py": b"import helper\nfrom headway.sdk import DAG\nDAG(helper.NAME)\n",
    "helper.py": b"NAME = 'as_it_was'\n",
}

OTHER_ATTEMPT = """
import os, sys
for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    content = open(path, "rb").read()
    open(path, "wb").write(content.replace(b"as_it_was", b"stolen").replace(b"helper.", b"str."))
"""
"""The program of an attempt of another version: the same account, no namespace."""


def rewrite(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", OTHER_ATTEMPT, str(folder)], check=True)


def run_attempt(folder: Path, at: str, act: Callable[[Path], None]) -> tuple[list[str], Frame]:
    """Run an attempt of the version in a process of its own, and act at a point of it.

    Return the points that it went through, and its last words.
    """
    ours, theirs = socketpair()
    child = os.fork()
    if child == 0:
        _attempt(folder, theirs)
    theirs.close()
    points = []
    with ours:
        ours.settimeout(30)
        while (frame := receive_frame(ours)) is not None and "made" not in frame:
            points.append(frame["ask"])
            if frame["ask"] == at:
                act(folder / "store")
            send_frame(ours, _answer(frame))
    os.waitpid(child, 0)
    assert frame is not None
    return points, frame


def _answer(question: Frame) -> Frame:
    if question["ask"] != "code":
        return {}
    content = {digest: FILES[path] for path, digest in HASHES.items()}[question["hash"]]
    return {"piece": content[question["start"] :], "size": len(content)}


def _attempt(folder: Path, channel: socket) -> None:
    def ask(question: Frame) -> Frame:
        send_frame(channel, question)
        answer = receive_frame(channel)
        assert answer is not None
        return answer

    try:
        ask({"ask": "begin"})
        supply = WorkerSupply(folder / "store", ask)
        code = BundleCode(folder / "own", HASHES, supply, lambda: _passed(ask))
        with importing(code):
            made = [dag.dag_id for dag in load_dag_file(code.root / "etl.py", code.root, code)]
        send_frame(channel, {"made": made})
    finally:
        os._exit(0)


def _passed(ask: Callable[[Frame], Frame]) -> None:
    ask({"ask": "checked"})


HASHES: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path) -> None:
    HASHES.update(store(tmp_path / "store", FILES))


@pytest.mark.regression
def test_what_is_rewritten_between_the_check_and_the_import_is_not_imported(
    tmp_path: Path,
) -> None:
    points, said = run_attempt(tmp_path, "checked", rewrite)

    assert said["made"] == ["as_it_was"]
    assert points == ["begin", "checked", "code", "checked"]  # the helper was rewritten by then


@pytest.mark.regression
def test_what_was_rewritten_before_the_check_comes_from_the_worker(tmp_path: Path) -> None:
    points, said = run_attempt(tmp_path, "begin", rewrite)

    assert said["made"] == ["as_it_was"]
    assert points == ["begin", "code", "checked", "code", "checked"]


@pytest.mark.regression
def test_what_is_taken_away_comes_from_the_worker(tmp_path: Path) -> None:
    def remove(folder: Path) -> None:
        for path in folder.iterdir():
            path.unlink()

    assert run_attempt(tmp_path, "begin", remove)[1]["made"] == ["as_it_was"]
