"""Bundles as users see them, and how one that nobody looks at any more is forgotten."""

import pytest
from sqlalchemy import Engine, text
from tests.integration.parses import parse, take_over

from headway.actions.change import Author
from headway.actions.installation.bundles import forget_bundle
from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.db.parsing import bundles
from headway.db.reads import bundle_views, dag_file_views
from headway.domain.errors import ConflictError, NotFoundError
from headway.testing.data import seed

ANN = Author("user:ann", "moved away")


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


def forget(engine: Engine, name: str) -> list[str]:
    with engine.begin() as conn:
        return forget_bundle(conn, name, ANN)


def serve(engine: Engine, me: Identity, *names: str) -> None:
    with engine.begin() as conn:
        processes.serve(conn, me, names)


def test_a_bundle_is_listed_with_what_there_is_of_it(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", error="bad"))
    serve(engine, me, "main", "new")
    with engine.begin() as conn:
        bundles.claim_fetch(conn, "git", me.id, 60)
        bundles.move(conn, "git", "c0ffee")
        listed = {bundle.name: bundle for bundle in bundle_views.list_all(conn)}

    assert sorted(listed) == ["git", "main", "new"]
    assert listed["git"].commit == "c0ffee"
    main = listed["main"]
    assert (main.files, main.dags, main.errors, main.parsers) == (2, 1, 1, 1)
    assert main.parsed_at is not None
    assert (listed["new"].files, listed["new"].parsers, listed["git"].parsers) == (0, 1, 0)


def test_a_bundle_that_nobody_looks_at_is_forgotten_but_for_its_history(
    engine: Engine, me: Identity
) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", error="bad"))

    assert forget(engine, "main") == ["etl"]
    with engine.connect() as conn:
        assert bundle_views.list_all(conn) == []
        assert dag_file_views.errors(conn) == []
        assert conn.scalar(text("SELECT count(*) FROM dag_version")) == 1
        assert not conn.scalar(text("SELECT active FROM dag"))
        event = conn.execute(text("SELECT actor, action, details FROM event")).one()
    assert event[:2] == ("user:ann", "bundle.forget")
    assert event.details == {"bundle": "main", "dags": ["etl"], "reason": "moved away"}


def test_one_that_a_parser_looks_at_is_not(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", seed.dag()))
    serve(engine, me, "main")

    with pytest.raises(ConflictError, match="a parser looks at it"):
        forget(engine, "main")
    with engine.begin() as conn:
        processes.leave(conn, me)
    assert forget(engine, "main") == ["etl"]


def test_one_that_is_not_there_is_not_found(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="no bundle 'none'"):
        forget(engine, "none")


def test_the_remote_is_asked_by_one_parser_at_a_time(engine: Engine, me: Identity) -> None:
    other = seed.register(engine, "parser")
    with engine.begin() as conn:
        assert bundles.claim_fetch(conn, "git", me.id, 60)
        assert not bundles.claim_fetch(conn, "git", other.id, 60)
        bundles.release_fetch(conn, "git", other.id)  # it is not that one's
        assert not bundles.claim_fetch(conn, "git", other.id, 60)
        bundles.release_fetch(conn, "git", me.id)
        assert bundles.claim_fetch(conn, "git", me.id, 60)
        conn.execute(text("UPDATE dag_bundle SET fetch_claimed_at = now() - interval '61 seconds'"))
        assert bundles.claim_fetch(conn, "git", other.id, 60)
        assert bundles.commits(conn, ["git"]) == {}
        bundles.move(conn, "git", "c0ffee")
        assert bundles.commits(conn, ["git", "none"]) == {"git": "c0ffee"}
