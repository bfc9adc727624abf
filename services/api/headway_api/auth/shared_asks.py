"""Asking for a page on behalf of all streams that show it, rather than for one browser.

No request from outside is such an ask: what tells that one is stands in the scope of the request,
where only this process writes.
"""

from dataclasses import dataclass, replace
from typing import Final

from fastapi import Request
from starlette.types import Scope

from headway.domain.accounts import Account, permitted_bundles

_KEY: Final = "headway.shared_ask"
_NOBODY: Final = ""


@dataclass(frozen=True, slots=True)
class Secret:
    """What shows whose a stream is: the hash of a token, or of a session."""

    hash: bytes
    by_token: bool


@dataclass(frozen=True, slots=True)
class SharedAsk:
    """For whom a page is made: by the secret of one stream, for all with the same `rights`.

    The rows of a grid are left out if a script has `drawn` them.
    """

    secret: Secret
    rights: Account
    drawn: bool = False

    def put_in(self, scope: Scope) -> None:
        """Have the request of this scope be this ask."""
        scope[_KEY] = self


def shared_ask(request: Request) -> SharedAsk | None:
    """Return for whom the page is made; None if it is for the one browser that has asked."""
    found: SharedAsk | None = request.scope.get(_KEY)
    return found


def rights_of(account: Account) -> Account:
    """Return an account without a name that may do the same; it is one for all that may.

    A page that is made for it can name nobody.
    """
    bundles = permitted_bundles(account)
    ordered = None if bundles is None else tuple(sorted(bundles))
    return replace(account, name=_NOBODY, bundles=ordered)
