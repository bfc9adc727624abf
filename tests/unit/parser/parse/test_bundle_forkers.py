"""When the fork server of a bundle is begun and ended; the fork servers are not real."""

from concurrent.futures import wait
from pathlib import Path
from typing import Any, cast

import pytest

from headway.db.parsing.files import FileKey
from headway.runtime.forker import Forker
from headway.testing.time.clock import FakeClock
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.bundle_forkers import BundleForkers
from headway_parser.parse.jobs import Job, ParseReason

IDLE, LONG_PARSE, PATIENCE = 1000.0, 30.0, 20.0
PARSED = ParsedFile(imports=frozenset({"acme"}))


class ServingForker:
    """What serves until it is closed."""

    def alive(self) -> bool:
        return True

    def close(self) -> None:
        """End."""


class Started:
    """Fork servers of one bundle, and how many were begun."""

    def __init__(self) -> None:
        self.clock, self.count = FakeClock(), 0
        self.forkers = BundleForkers(self._start, self.clock, IDLE)

    def _start(self, *_: object) -> Forker:
        self.count += 1
        return cast("Forker", ServingForker())

    def step(self) -> None:
        self.forkers.step(cast("Forker", ServingForker()), ())
        coming = [each.coming for each in self.forkers._bundles.values()]
        wait([each.starting for each in coming if each is not None], PATIENCE)


@pytest.fixture
def started() -> Started:
    return Started()


def job(root: Path, path: str = "d.py") -> Job:
    given: dict[str, Any] = {"reason": ParseReason.NEW, "seen": "", "hashes": {}}
    return Job(key=FileKey("dags", path), root=root, **given)


def test_one_that_was_idle_is_begun_again_once_a_file_was_parsed(
    started: Started, tmp_path: Path
) -> None:
    file = job(tmp_path)
    started.forkers.learn(file, PARSED, preloaded=False)
    started.step()
    started.step()
    assert started.forkers.forker_for(file) is not None

    started.clock.advance(LONG_PARSE)
    started.forkers.learn(file, PARSED, preloaded=True)
    started.clock.advance(IDLE - LONG_PARSE)
    started.step()
    assert started.forkers.forker_for(file) is None
    for _ in range(3):
        started.clock.advance(LONG_PARSE)
        started.step()
    assert started.count == 1

    started.forkers.learn(file, PARSED, preloaded=False)
    started.step()
    started.step()
    assert started.count == 2
    assert started.forkers.forker_for(file) is not None
