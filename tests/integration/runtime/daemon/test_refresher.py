"""A bundle that follows its remote, while that or anything else fails."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Engine, text
from tests.integration.parser.test_git_bundle import Remote

from headway.db.core.processes import Identity
from headway.domain.errors import FencedError
from headway.runtime.settings.bundles import BundleSettings
from headway.testing.data import seed
from headway.testing.time.clock import FakeClock
from headway_parser.bundles import GitBundle, GitError
from headway_parser.bundles.git_command import GitCommand
from headway_parser.bundles.refresh import Refresher

INTERVAL = 60.0
PATIENCE = 30.0
DEAD = text("UPDATE process SET ended_at = now() WHERE id = :id")


class WaitingClock(FakeClock):
    """A clock that keeps each wait; after the last of `after` waits it stops who waits."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.waits: list[float] = []
        self.stop: Callable[[], None] = lambda: None

    def wait(self, event: Event, seconds: float) -> bool:
        self.waits.append(seconds)
        if len(self.waits) == self.after:
            self.stop()
        return super().wait(event, seconds)


class Moved(list[None]):
    """How often something was said to have moved."""

    def __call__(self) -> None:
        self.append(None)


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remote")


@pytest.fixture
def bundle(tmp_path: Path, remote: Remote) -> GitBundle:
    source = BundleSettings.model_validate(
        {"git": remote.url, "ref": "main", "refresh_interval": INTERVAL}
    )
    return GitBundle("etl", source, tmp_path / "home", GitCommand.find(dict(os.environ)))


def run(
    engine: Engine, me: Identity, bundle: GitBundle, times: int
) -> tuple[Refresher, list[float]]:
    """Let a refresher tick so often; return it, and how long it has waited after each."""
    clock = WaitingClock(times)
    refresher = Refresher(engine, me, bundle, clock, Moved())
    clock.stop = refresher.close
    refresher.start()
    assert refresher._thread is not None
    refresher._thread.join(PATIENCE)
    assert not refresher._thread.is_alive()
    return refresher, clock.waits


def test_a_bundle_that_has_nothing_yet_is_tried_again_soon(
    engine: Engine, me: Identity, bundle: GitBundle
) -> None:
    refresher, waits = run(engine, me, bundle, 7)

    assert waits == [2, 4, 8, 16, 32, 60, 60]
    assert refresher.place is None


def test_one_that_has_its_files_waits_for_the_remote_as_ever(
    engine: Engine, me: Identity, bundle: GitBundle, remote: Remote
) -> None:
    commit = remote.commit(a="1")
    refresher, waits = run(engine, me, bundle, 1)
    assert refresher.place is not None
    assert refresher.place.commit == commit

    remote.folder.rename(remote.folder.with_name("away"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_bundle SET fetch_claimed_at = NULL"))
    refresher.bell.stopped.clear()
    assert not refresher._try()
    assert (waits, refresher._wait()) == ([INTERVAL], INTERVAL)


def test_a_question_without_an_answer_is_another_one_s_to_ask(
    engine: Engine, me: Identity, bundle: GitBundle, remote: Remote
) -> None:
    """The other parser has a way to the remote that this one has not."""
    away = Refresher(engine, me, bundle, FakeClock(), Moved())
    there = remote.folder.rename(remote.folder.with_name("away"))
    with pytest.raises(GitError):
        away.tick()
    there.rename(remote.folder)
    commit = remote.commit(a="1")

    other = Refresher(engine, seed.register(engine, "parser"), bundle, FakeClock(), Moved())
    other.tick()
    assert other.place is not None
    assert other.place.commit == commit


@pytest.mark.parametrize("bug", [ValueError("bug"), KeyError("bug")])
def test_a_bug_ends_the_process_by_way_of_the_place(
    engine: Engine,
    me: Identity,
    bundle: GitBundle,
    bug: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: GitBundle) -> str:
        raise bug

    monkeypatch.setattr(GitBundle, "newest", fail)
    refresher, waits = run(engine, me, bundle, 1)

    assert waits == []
    assert refresher.moved == Moved([None])
    with pytest.raises(type(bug), match="bug"):
        _ = refresher.place


def test_a_parser_that_was_declared_dead_is_told_so(
    engine: Engine, me: Identity, bundle: GitBundle
) -> None:
    with engine.begin() as conn:
        conn.execute(DEAD, {"id": me.id})
    refresher, _ = run(engine, me, bundle, 1)

    with pytest.raises(FencedError):
        _ = refresher.place
