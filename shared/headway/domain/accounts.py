"""Accounts of people and programs, their roles, and the one decision about what each may do."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from unicodedata import normalize

from headway.domain.errors import RequestError

LONGEST_ACCOUNT: Final = 100
SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 1000
EVERY_BUNDLE: Final = "*"
"""How it is shown and typed that an account is not limited to some bundles."""

_ACCOUNT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.@+\-]*")


class AccountRole(StrEnum):
    """What an account may do; each role may do what the ones above it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Return the place of the role: a higher one may do more."""
        return list(AccountRole).index(self)


class Permission(StrEnum):
    """What an action of the API needs.

    `READ` is for all that only looks.  `OPERATE` is for triggering, clearing, marking, cancelling,
    pausing and backfills.  `ADMINISTER` is for pools, connections, variables, deletions, draining
    workers, accounts, and the tokens of other accounts.
    """

    READ = "read"
    OPERATE = "operate"
    ADMINISTER = "administer"


NEEDED_ROLE: Final[Mapping[Permission, AccountRole]] = {
    Permission.READ: AccountRole.VIEWER,
    Permission.OPERATE: AccountRole.OPERATOR,
    Permission.ADMINISTER: AccountRole.ADMIN,
}
"""The least role that has each permission."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who makes a request, and within which bundles; None means every bundle."""

    name: str
    role: AccountRole
    bundles: tuple[str, ...] | None = None


def may(account: Account, permission: Permission, bundle: str | None) -> bool:
    """Tell whether the account may do that in a bundle, or in the installation if it is None.

    Admins see every bundle.
    """
    if account.role.rank < NEEDED_ROLE[permission].rank:
        return False
    permitted = permitted_bundles(account)
    return bundle is None or permitted is None or bundle in permitted


def permitted_bundles(account: Account) -> tuple[str, ...] | None:
    """Return the bundles that queries for the account are limited to; None means every bundle."""
    return None if account.role is AccountRole.ADMIN else account.bundles


def narrowed(account: Account, role: AccountRole, bundles: tuple[str, ...] | None) -> Account:
    """Return the account with at most this role and these bundles, as a token of it has them."""
    least = min(account.role, role, key=lambda each: each.rank)
    own = permitted_bundles(account)
    if own is None or bundles is None:
        both = bundles if own is None else own
    else:
        both = tuple(bundle for bundle in bundles if bundle in own)
    if role is AccountRole.ADMIN and account.role is AccountRole.ADMIN:
        both = None
    return replace(account, role=least, bundles=both)


def exceeds(wanted: Account, account: Account) -> bool:
    """Tell whether `wanted` has a role or a bundle that the account does not have."""
    return narrowed(account, wanted.role, wanted.bundles) != replace(wanted, name=account.name)


def shown_bundles(bundles: Collection[str] | None) -> list[str]:
    """Return the bundles as people read them."""
    return [EVERY_BUNDLE] if bundles is None else sorted(bundles)


def account_name(given: str) -> str:
    """Return the name of an account as it is stored, in lower case; RequestError for none."""
    name = given.strip().lower()
    if len(name) > LONGEST_ACCOUNT or not _ACCOUNT_NAME.fullmatch(name):
        raise RequestError(
            f"The account name {given[:60]!r} must have 1 to {LONGEST_ACCOUNT} letters of the "
            "English alphabet, digits, dashes, dots, underscores, @ and +, and begin with a "
            "letter or a digit."
        )
    return name


def check_bundles(role: AccountRole, bundles: Collection[str] | None) -> tuple[str, ...] | None:
    """Return the bundles as they are stored; RequestError if a role cannot have them."""
    if bundles is None or EVERY_BUNDLE in bundles:
        return None
    if role is AccountRole.ADMIN:
        raise RequestError("An admin sees every bundle; give no bundles, or another role.")
    if not all(bundle and bundle.isprintable() for bundle in bundles):
        raise RequestError("The name of a bundle has printable characters.")
    return tuple(sorted(set(bundles)))


def check_password(name: str, password: str) -> str:
    """Return the password when the account may have it; RequestError, without it, if not."""
    length = len(normalize("NFKC", password))
    if not SHORTEST_PASSWORD <= length <= LONGEST_PASSWORD:
        raise RequestError(
            f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, not {length}."
        )
    if password.lower() == name:
        raise RequestError("The password of an account cannot be its name.")
    return password
