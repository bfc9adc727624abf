"""Who makes a request, what it may see and do, and how its work runs in the database."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeAlias, TypeVar

from fastapi import Depends, Request
from sqlalchemy import Connection

from headway.actions import transaction
from headway.actions.accounts import authenticate
from headway.actions.accounts.authenticate import Authenticated
from headway.actions.change import Author
from headway.db.core.engine import reader
from headway.db.core.notices import Notice
from headway.db.reads import dag_views
from headway.db.reads.pages.paging import USUAL_ROWS, Asked
from headway.domain.accounts import NEEDED_ROLE, Account, Permission, may, permitted_bundles
from headway.domain.errors import DagNotFoundError
from headway_api.auth.database import ApiDatabase
from headway_api.auth.shared_asks import SharedAsk, rights_of, shared_ask
from headway_api.http.guard import COOKIES
from headway_api.http.handlers import Deferred
from headway_api.http.refusals import NotSignedInError, RoleError

T = TypeVar("T")

_SCHEME: Final = "bearer "
_SIGN_IN: Final = (
    "Sign in: send a token as `Authorization: Bearer TOKEN`. `headway tokens create` and "
    "`POST /auth/token` give one."
)


@dataclass(frozen=True, slots=True)
class Caller:
    """An account that makes a request, and the database for its work.

    A handler reads by `read` and changes by `change`, and has no other way to the database.
    """

    account: Account
    actor: str
    database: ApiDatabase
    token: str | None = None
    """The name of the token that the request has; None for who has signed in."""

    @property
    def bundles(self) -> tuple[str, ...] | None:
        """The bundles that every query is limited to; None means every bundle."""
        return permitted_bundles(self.account)

    def author(self, reason: str | None = None) -> Author:
        """Return whom the journal names as the author of a change."""
        return Author(self.actor, reason)

    def page(
        self,
        limit: int = USUAL_ROWS,
        cursor: str | None = None,
        *,
        descending: bool = False,
        counted: bool = False,
    ) -> Asked:
        """Return which page of a list is asked for, within the account's bundles."""
        return Asked(self.bundles, limit, cursor, descending, counted)

    def require(self, permission: Permission) -> None:
        """RoleError unless the account's role has the permission in some bundle."""
        if not may(self.account, permission, None):
            raise RoleError(
                f"{self.account.name} is {_with_article(self.account.role)}; this needs the role "
                f"{NEEDED_ROLE[permission]}."
            )

    def check_dag(self, conn: Connection, permission: Permission, dag_id: str) -> None:
        """RoleError, or DagNotFoundError for a DAG of a bundle that the account may not see.

        A DAG that is not there is not told from one that is hidden.  An account of every bundle
        is left to the action, whose error names the nearest DAGs.
        """
        self.require(permission)
        if self.bundles is None:
            return
        dag = dag_views.dag(conn, dag_id)
        if dag is None or not may(self.account, permission, dag.bundle):
            raise DagNotFoundError(f"There is no DAG {dag_id!r}.")

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads, in a transaction that cannot write."""
        with self.database.reads.connect() as conn:
            return work(conn)

    def change(
        self,
        work: Callable[[Connection], T],
        tell: Collection[Notice] = transaction.TOLD,
        *,
        dry_run: bool = False,
    ) -> T:
        """Do `work` in one transaction and tell services of it, or rehearse it."""
        if dry_run:
            return transaction.rehearse(self.database.writes, work)
        return transaction.act(self.database.writes, work, tell)


def token_of(request: Request) -> str | None:
    """Return the token in the header Authorization, if there is one."""
    given = request.headers.get("authorization", "")
    return given[len(_SCHEME) :].strip() if given.lower().startswith(_SCHEME) else None


def session_of(request: Request) -> str | None:
    """Return the session in the cookie, if there is one."""
    found = (request.cookies.get(name) for name in COOKIES)
    return next(filter(None, found), None)


async def caller(request: Request) -> Deferred:  # async, so that it needs no thread
    """Return who makes the request, for whom the handler's thread asks the database.

    NotSignedInError without a token and without a session.
    """
    is_anyones = shared_ask(request) is None
    if is_anyones and token_of(request) is None and session_of(request) is None:
        raise NotSignedInError(_SIGN_IN)
    return Deferred(partial(signed_in, request))


def signed_in(request: Request) -> Caller:
    """Return who makes the request; NotSignedInError without a valid token or session."""
    database: ApiDatabase = request.app.state.database
    ask = shared_ask(request)
    found = _authenticated(request, database) if ask is None else _shared(ask, database)
    if found is None:
        raise NotSignedInError(_SIGN_IN)
    return Caller(found.account, found.actor, database, found.token)


AnyCaller: TypeAlias = Annotated[Caller, Depends(caller)]
"""The parameter by which a handler says that it is for accounts that are signed in."""


def _authenticated(request: Request, database: ApiDatabase) -> Authenticated | None:
    token, session = token_of(request), session_of(request)
    if token is None and session is None:
        return None
    # One statement, without the round trips of a transaction around it.
    with reader(database.writes).connect() as conn:
        if token is not None:
            return authenticate.by_token(conn, token)
        return None if session is None else authenticate.by_session(conn, session)


def _shared(ask: SharedAsk, database: ApiDatabase) -> Authenticated | None:
    """Return who may do just what all may for whom the page is made, if its secret still may.

    To ask does not count as a use: a tab that is left open keeps no session from ending.
    """
    secret = ask.secret
    tokens, sessions = ({secret.hash}, ()) if secret.by_token else ((), {secret.hash})
    with reader(database.writes).connect() as conn:
        account = authenticate.still(conn, tokens, sessions).get(secret.hash)
    if account is None or rights_of(account) != ask.rights:
        return None
    return Authenticated(ask.rights, ask.rights.name)


def _with_article(role: str) -> str:
    return f"{'an' if role[0] in 'aeio' else 'a'} {role}"
