"""What a parser's own login gets of connections and variables: what its bundles are granted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.installation import secrets as actions
from headway.db.access.logins import Login
from headway.db.core import identity, processes
from headway.db.core.processes import Identity
from headway.db.execution.secret_requests import Delivered
from headway.db.parsing import bundle_secrets
from headway.db.parsing.bundle_secrets import BundleSecret, SecretName
from headway.domain.variable import SecretKind, to_bundle
from headway.testing.data import seed
from headway.testing.data.granted import KEYS, VALUE, ask, grant, store
from headway.testing.database.logins import logged_in

V = SecretName(SecretKind.VARIABLE, VALUE.key)


@pytest.fixture
def parser(database_url: str) -> Iterator[Engine]:
    """The login of parsers."""
    with logged_in(database_url, Login.PARSER) as engine:
        yield engine


@pytest.fixture
def me(engine: Engine) -> Identity:
    """A parser that has the bundles dags and etl."""
    store(engine)
    registered = seed.register(engine, "parser")
    with engine.begin() as conn:
        processes.serve(conn, registered, ["dags", "etl"])
    return registered


def found(
    parser: Engine, me: Identity, bundle: str = "dags", *, whole: bool = True
) -> BundleSecret | None:
    with parser.begin() as conn:
        identity.say(conn, me)
        return bundle_secrets.ask(conn, bundle, [V], whole=whole).get(V)


def test_what_a_bundle_is_granted_is_delivered_to_its_parser(
    engine: Engine, parser: Engine, me: Identity
) -> None:
    grant(engine, to_bundle("dags"))

    its = found(parser, me)

    assert its is not None
    assert its.granted
    assert its.sealed is not None
    assert VALUE.value in KEYS.open(*V, its.sealed)
    looked = found(parser, me, whole=False)
    assert looked == replace(its, sealed=None)


def test_no_other_grant_delivers_it(engine: Engine, parser: Engine, me: Identity) -> None:
    grant(engine, "*", "dags", "etl", to_bundle("etl"), to_bundle("dags2"))

    its = found(parser, me)

    assert its is not None
    assert (its.granted, its.present, its.sealed) == (False, True, None)


def test_only_a_live_parser_that_has_the_bundle_is_told_anything(
    engine: Engine, parser: Engine, me: Identity
) -> None:
    grant(engine, to_bundle("dags"), to_bundle("other"))
    worker = seed.register(engine, "worker")

    assert found(parser, me, "other") is None
    assert found(parser, worker) is None
    assert found(parser, replace(me, proof=worker.proof)) is None
    assert found(parser, replace(me, proof=None)) is None
    assert found(parser, me) is not None
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now() WHERE id = :id"), {"id": me.id})
    assert found(parser, me) is None


@pytest.mark.parametrize("login", [Login.WORKER, Login.SCHEDULER, Login.READONLY, Login.USER])
def test_no_other_role_may_ask(database_url: str, me: Identity, login: Login) -> None:
    with (
        logged_in(database_url, login) as engine,
        pytest.raises(DBAPIError, match="permission denied for function"),
    ):
        found(engine, me)


def test_an_attempt_gets_what_the_bundle_of_its_dag_is_granted(
    engine: Engine, database_url: str
) -> None:
    """Its process loads the DAG file again, and the file reads the same names."""
    store(engine)
    me = seed.register(engine, "worker")
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, me)
    with engine.connect() as conn:
        bundle = str(conn.scalar(text("SELECT bundle FROM dag")))
    with logged_in(database_url, Login.WORKER) as worker:
        grant(engine, to_bundle(f"{bundle}2"), bundle)
        assert ask(worker, me, claimed.key) == Delivered(granted=False, present=True, sealed=None)

        grant(engine, to_bundle(bundle))
        its = ask(worker, me, claimed.key)
        assert its is not None
        assert its.granted

        with engine.begin() as conn:
            actions.revoke(conn, V.kind, V.name, [to_bundle(bundle)], "user:ann")
        assert ask(worker, me, claimed.key) == Delivered(granted=False, present=True, sealed=None)
