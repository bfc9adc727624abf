"""Links that sign a browser in once."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from headway.actions.accounts import change, first, links
from headway.actions.accounts.sign_in import SignInRefused
from headway.actions.change import Author
from headway.db.access.logins import Login
from headway.domain.accounts import Account, AccountRole
from headway.domain.errors import AccountNotFoundError, RequestError
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.logins import logged_in

ANN = Account("ann", AccountRole.VIEWER)
BOSS = Author("user:boss")


@pytest.fixture
def api(database_url: str) -> Iterator[Engine]:
    """The API's connections to a database with one account."""
    with logged_in(database_url, Login.API) as own:
        with own.begin() as conn:
            change.create_account(conn, ANN, BOSS, oidc=("https://login.example.org", "1"))
        yield own


def link_of(api: Engine, account: str = "ann", lifetime: float = links.LIFETIME) -> str:
    """Return the secret of a new link."""
    with api.begin() as conn:
        page, _, secret = links.create_link(conn, account, BOSS, lifetime).partition("#")
    assert page == links.PAGE
    return secret


def test_a_link_signs_in_once(api: Engine, engine: Engine) -> None:
    secret = link_of(api, " ANN ")

    def use() -> Account | SignInRefused:
        with api.begin() as other:
            return links.use_link(other, secret)

    with api.connect() as conn:
        assert links.use_link(conn, secret) == ANN
        with in_background(use) as second:
            wait_until_blocked(engine)
            conn.commit()
            assert second.result() == SignInRefused()


def test_a_link_expires(api: Engine) -> None:
    secret = link_of(api, lifetime=-1)

    with api.begin() as conn:
        assert links.use_link(conn, secret) == SignInRefused()


def test_a_link_does_not_sign_in_who_was_disabled_after_it_was_made(api: Engine) -> None:
    secret = link_of(api)

    with api.begin() as conn:
        change.disable_account(conn, "ann", BOSS)
        assert links.use_link(conn, secret) == SignInRefused()


def test_no_link_is_made_for_who_may_not_sign_in(api: Engine) -> None:
    with pytest.raises(AccountNotFoundError, match="bob"):
        link_of(api, "bob")
    with api.begin() as conn:
        change.disable_account(conn, "ann", BOSS)
    with pytest.raises(RequestError, match="The account ann is disabled"):
        link_of(api)


def test_the_journal_tells_who_made_a_link_and_not_its_secret(api: Engine) -> None:
    secret = link_of(api)

    with api.begin() as conn:
        rows = conn.execute(
            text("SELECT actor, details::text FROM event WHERE action = 'link.create'")
        ).all()
    assert rows == [("user:boss", '{"account": "ann"}')]
    assert secret not in rows[0][1]


def test_the_first_account_has_a_link_until_somebody_disables_it(engine: Engine) -> None:
    with engine.begin() as conn:
        assert first.admin_link(conn, BOSS) is None
        first.create_admin(conn, BOSS)
        path = first.admin_link(conn, BOSS)
        assert path is not None
        signed_in = links.use_link(conn, path.partition("#")[2])
        assert signed_in == Account("admin", AccountRole.ADMIN)
        change.create_account(conn, Account("ben", AccountRole.ADMIN), BOSS, oidc=("i", "2"))
        change.disable_account(conn, "admin", BOSS)
        assert first.admin_link(conn, BOSS) is None


def test_the_first_account_is_made_once(engine: Engine) -> None:
    with engine.begin() as conn:
        assert first.create_admin(conn, BOSS)
        change.create_account(conn, Account("ben", AccountRole.ADMIN), BOSS, oidc=("i", "2"))
        change.delete_account(conn, "admin", BOSS)
        assert not first.create_admin(conn, BOSS)
