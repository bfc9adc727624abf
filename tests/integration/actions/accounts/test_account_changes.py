"""Accounts and tokens as headway_api changes them: rules, events, and two admins at once."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.accounts import authenticate, change, sign_in, tokens
from headway.actions.accounts.tokens import TokenRequest
from headway.actions.change import Author
from headway.db.access.logins import Login
from headway.db.accounts import accounts
from headway.db.reads import account_views
from headway.domain.accounts import Account, AccountRole
from headway.domain.errors import (
    AccountNotFoundError,
    AlreadyExistsError,
    ConflictError,
    RequestError,
    TokenNotFoundError,
)
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.logins import logged_in

BOSS = Author("user:boss", "because")
PASSWORD = "correct horse battery"
EVENTS = text("SELECT action, details::text FROM event ORDER BY id")


@pytest.fixture
def api(database_url: str, engine: Engine) -> Iterator[Engine]:
    with logged_in(database_url, Login.API) as own:
        yield own


def create(engine: Engine, name: str, role: AccountRole = AccountRole.VIEWER) -> None:
    with engine.begin() as conn:
        change.create_account(conn, Account(name, role), BOSS, password=PASSWORD)


def token(engine: Engine, **wanted: Any) -> tokens.CreatedToken:
    with engine.begin() as conn:
        return tokens.create_token(conn, TokenRequest("ann", **wanted), BOSS)


def test_each_change_is_an_event_without_a_secret(api: Engine) -> None:
    create(api, "boss", AccountRole.ADMIN)
    create(api, "ann")
    secret = token(api, name="ci").secret
    with api.begin() as conn:
        change.set_account_access(conn, "ann", (AccountRole.OPERATOR, ["b", "a"]), BOSS)
        change.set_account_password(conn, "ann", "another horse battery", BOSS)
        change.disable_account(conn, "ann", BOSS)
        change.enable_account(conn, "ann", BOSS)
        tokens.revoke_token(conn, 1, BOSS)
        change.delete_account(conn, "ann", BOSS)
        rows = conn.execute(EVENTS).all()

    assert [row.action for row in rows] == [
        "account.create",
        "account.create",
        "token.create",
        "account.set",
        "account.password",
        "account.disable",
        "account.enable",
        "token.revoke",
        "account.delete",
    ]
    told = "".join(row.details for row in rows)
    assert PASSWORD not in told
    assert "another horse" not in told
    assert secret not in told
    assert "scrypt" not in told


def test_a_name_is_taken_once_in_any_case(api: Engine) -> None:
    create(api, "ann")
    with pytest.raises(AlreadyExistsError):
        create(api, "Ann")


def test_the_last_admin_stays(api: Engine) -> None:
    create(api, "boss", AccountRole.ADMIN)
    for work in (
        lambda conn: change.disable_account(conn, "boss", BOSS),
        lambda conn: change.delete_account(conn, "boss", BOSS),
        lambda conn: change.set_account_access(conn, "boss", (AccountRole.VIEWER, None), BOSS),
    ):
        with pytest.raises(ConflictError), api.begin() as conn:
            work(conn)


def test_two_admins_do_not_disable_each_other(api: Engine, engine: Engine) -> None:
    create(api, "ann", AccountRole.ADMIN)
    create(api, "ben", AccountRole.ADMIN)

    def disable_ben() -> None:
        with api.begin() as other:
            change.disable_account(other, "ben", BOSS)

    with api.connect() as conn:
        change.disable_account(conn, "ann", BOSS)
        with in_background(disable_ben) as waiting:
            wait_until_blocked(engine)
            conn.commit()
            with pytest.raises(ConflictError):
                waiting.result()


def test_bundles_are_kept_until_others_are_named(api: Engine) -> None:
    create(api, "ann")
    with api.begin() as conn:
        change.set_account_access(conn, "ann", (None, ["a"]), BOSS)
        kept = change.set_account_access(conn, "ann", (AccountRole.OPERATOR, None), BOSS)
        every = change.set_account_access(conn, "ann", (None, ["*"]), BOSS)

    assert kept == Account("ann", AccountRole.OPERATOR, ("a",))
    assert every.bundles is None


def test_a_token_has_no_more_than_its_owner_has_now(api: Engine) -> None:
    create(api, "ann", AccountRole.OPERATOR)
    with pytest.raises(RequestError, match="cannot have more"):
        token(api, name="ci", role=AccountRole.ADMIN)
    secret = token(api, name="ci").secret
    with api.begin() as conn:
        change.set_account_access(conn, "ann", (AccountRole.VIEWER, ["a"]), BOSS)
        found = authenticate.by_token(conn, secret)

    assert found is not None
    assert found.account == Account("ann", AccountRole.VIEWER, ("a",))
    assert found.actor == "token:ann/ci"


def test_a_token_asks_for_no_more_than_the_one_who_asks(api: Engine) -> None:
    create(api, "ann", AccountRole.OPERATOR)
    asker = Account("ann", AccountRole.VIEWER)
    request = TokenRequest("ann", "ci", AccountRole.OPERATOR)
    with pytest.raises(RequestError, match="cannot have more"), api.begin() as conn:
        tokens.create_token(conn, request, BOSS, asker)


def test_a_name_of_a_token_is_free_once_it_is_revoked(api: Engine) -> None:
    create(api, "ann")
    token(api, name="ci")
    with pytest.raises(AlreadyExistsError):
        token(api, name="ci")
    with api.begin() as conn:
        with pytest.raises(TokenNotFoundError):
            tokens.revoke_token(conn, 1, BOSS, "ben")
        tokens.revoke_token(conn, 1, BOSS, "ann")
        with pytest.raises(TokenNotFoundError):
            tokens.revoke_token(conn, 1, BOSS)
    token(api, name="ci")
    with api.connect() as conn:
        assert [row.revoked_at is None for row in account_views.tokens(conn)] == [False, True]


def test_a_token_is_refused_once_it_is_over(api: Engine, engine: Engine) -> None:
    create(api, "ann")
    secret = token(api, name="ci", lifetime=60.0).secret
    with api.begin() as conn:
        assert authenticate.by_token(conn, secret) is not None
        assert authenticate.by_token(conn, f"{secret}x") is None
    with engine.begin() as conn:
        conn.execute(text("UPDATE api_token SET expires_at = now()"))
    with api.begin() as conn:
        assert authenticate.by_token(conn, secret) is None


def test_tokens_and_sessions_of_a_disabled_account_are_refused(api: Engine) -> None:
    create(api, "ann")
    secret = token(api, name="ci").secret
    with api.begin() as conn:
        session = sign_in.open_session(conn, Account("ann", AccountRole.VIEWER)).secret
        assert authenticate.by_session(conn, session) is not None
        accounts.disable(conn, "ann")
        assert authenticate.by_token(conn, secret) is None
        assert authenticate.by_session(conn, session) is None


def test_use_is_noted_at_most_once_a_minute(api: Engine, engine: Engine) -> None:
    create(api, "ann")
    secret = token(api, name="ci").secret
    used = text("SELECT last_used_at FROM api_token")
    seen = []
    for ago in (0, 30, 90):
        with engine.begin() as conn:
            conn.execute(
                text("UPDATE api_token SET last_used_at = now() - make_interval(secs => :ago)"),
                {"ago": ago},
            )
            before = conn.scalar(used)
        with api.begin() as conn:
            authenticate.by_token(conn, secret)
        with api.connect() as conn:
            seen.append(conn.scalar(used) != before)

    assert seen == [False, False, True]


def test_a_token_revoked_while_it_is_used_is_refused_after(api: Engine) -> None:
    """Neither waits for the other."""
    create(api, "ann")
    secret = token(api, name="ci").secret
    with api.connect() as revoking, api.connect() as using:
        tokens.revoke_token(revoking, 1, BOSS)
        assert authenticate.by_token(using, secret) is not None
        using.commit()
        revoking.commit()
        assert authenticate.by_token(using, secret) is None


def test_what_is_not_there_is_not_found(api: Engine) -> None:
    with pytest.raises(AccountNotFoundError), api.begin() as conn:
        change.disable_account(conn, "nobody", BOSS)
