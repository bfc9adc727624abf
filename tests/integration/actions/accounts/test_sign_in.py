"""Signing in: passwords, limits of tries, and sessions, also two at once."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from headway.actions.accounts import authenticate, change, expiry, repeats, sign_in
from headway.actions.accounts.sign_in import LoginTry, SignInRefused, TooManyTries
from headway.actions.change import Author
from headway.db.access.logins import Login
from headway.domain.accounts import Account, AccountRole
from headway.domain.errors import ConflictError
from headway.domain.login_limits import PER_PAIR
from headway.testing.data.cheap_hashes import hash_at_little_cost
from headway.testing.database.logins import logged_in

ANN = Account("ann", AccountRole.VIEWER)
BOSS = Author("user:boss")
PASSWORD = "correct horse battery"
HERE = "192.0.2.1"


@pytest.fixture
def api(database_url: str, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The API's connections to a database with one account, whose hashes cost little."""
    hash_at_little_cost(monkeypatch)
    with logged_in(database_url, Login.API) as own:
        with own.begin() as conn:
            change.create_account(conn, ANN, BOSS, password=PASSWORD)
        yield own


def try_it(
    api: Engine, password: str = PASSWORD, *, name: str = "ann", address: str = HERE
) -> sign_in.SignInOutcome:
    return sign_in.sign_in(api, LoginTry(name, address, password))


def test_only_the_right_password_signs_in(api: Engine) -> None:
    assert try_it(api) == ANN
    assert try_it(api, name=" ANN ") == ANN
    assert try_it(api, "wrong") == SignInRefused()
    assert try_it(api, name="nobody") == SignInRefused()
    assert try_it(api, name="no/name") == SignInRefused()


def test_after_some_tries_one_waits_and_others_do_not(api: Engine) -> None:
    for _ in range(PER_PAIR.burst):
        assert try_it(api, "wrong") == SignInRefused()

    refused = try_it(api)
    assert isinstance(refused, TooManyTries)
    assert 0 < refused.seconds <= PER_PAIR.refill
    assert try_it(api, address="192.0.2.2") == ANN


def test_a_try_that_signs_in_is_not_counted(api: Engine) -> None:
    for _ in range(PER_PAIR.burst + 2):
        assert try_it(api) == ANN


def test_tries_come_back(api: Engine, engine: Engine) -> None:
    for _ in range(PER_PAIR.burst + 1):
        try_it(api, "wrong")
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE api_login_limit SET forgotten_at = forgotten_at - interval '31 seconds'")
        )

    assert try_it(api) == ANN


def test_tries_at_once_are_counted_before_they_are_checked(api: Engine) -> None:
    for _ in range(PER_PAIR.burst - 1):
        try_it(api, "wrong")
    others: list[sign_in.SignInOutcome] = []

    mine = sign_in.sign_in(
        api, LoginTry("ann", HERE, "wrong"), before_check=lambda: others.append(try_it(api))
    )

    assert mine == SignInRefused()
    assert isinstance(others[0], TooManyTries)


def test_a_password_that_is_changed_meanwhile_signs_nobody_in(api: Engine) -> None:
    def change_it() -> None:
        with api.begin() as conn:
            change.set_account_password(conn, "ann", "another horse battery", BOSS)

    outcome = sign_in.sign_in(api, LoginTry("ann", HERE, PASSWORD), before_check=change_it)

    assert outcome == SignInRefused()


def test_a_session_ends(api: Engine) -> None:
    with api.begin() as conn:
        session = sign_in.open_session(conn, ANN).secret
        found = authenticate.by_session(conn, session)
        assert found is not None
        assert (found.account, found.actor) == (ANN, "user:ann")
        assert authenticate.by_session(conn, session, idle=-1) is None
        sign_in.sign_out(conn, session)
        assert authenticate.by_session(conn, session) is None
        over = sign_in.open_session(conn, ANN, lifetime=-1).secret
        assert authenticate.by_session(conn, over) is None


def test_a_subject_of_oidc_is_an_account(api: Engine) -> None:
    with api.begin() as conn:
        ben = Account("ben", AccountRole.OPERATOR)
        change.create_account(conn, ben, BOSS, oidc=("https://id.example", "17"))
        assert sign_in.find_subject(conn, "https://id.example", "17") == ben
        assert sign_in.find_subject(conn, "https://other.example", "17") == SignInRefused()
    assert try_it(api, "any", name="ben") == SignInRefused()


def test_a_request_that_is_sent_again_is_answered_once(api: Engine) -> None:
    with api.begin() as conn:
        assert repeats.answered(conn, ANN, "k", "POST a") is None
        repeats.keep(conn, ANN, "k", (201, "{}"))
    with api.begin() as conn:
        again = repeats.answered(conn, ANN, "k", "POST a")
        assert again is not None
        assert (again.status, again.body) == (201, "{}")
        with pytest.raises(ConflictError):
            repeats.answered(conn, ANN, "k", "POST b")


def test_what_has_expired_is_deleted_in_portions(api: Engine, engine: Engine) -> None:
    with api.begin() as conn:
        for _ in range(3):
            sign_in.open_session(conn, ANN, lifetime=-1)
        kept = sign_in.open_session(conn, ANN).secret
    with api.begin() as conn:
        assert expiry.delete_expired(conn, 2)
    with api.begin() as conn:
        assert not expiry.delete_expired(conn, 2)
        assert conn.scalar(text("SELECT count(*) FROM api_session")) == 1
        assert authenticate.by_session(conn, kept) is not None
