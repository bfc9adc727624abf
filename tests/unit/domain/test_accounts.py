"""What each role may do, within which bundles, and what a token of an account has."""

import pytest

from headway.domain.accounts import (
    Account,
    AccountRole,
    Permission,
    account_name,
    check_bundles,
    check_password,
    exceeds,
    may,
    narrowed,
    permitted_bundles,
)
from headway.domain.errors import RequestError

VIEWER, OPERATOR, ADMIN = AccountRole
READ, OPERATE, ADMINISTER = Permission

ALLOWED = {
    VIEWER: {READ},
    OPERATOR: {READ, OPERATE},
    ADMIN: {READ, OPERATE, ADMINISTER},
}


@pytest.mark.parametrize("role", AccountRole)
@pytest.mark.parametrize("permission", Permission)
def test_a_role_has_its_permissions_and_those_below(
    role: AccountRole, permission: Permission
) -> None:
    allowed = permission in ALLOWED[role]

    assert may(Account("ann", role), permission, None) == allowed
    assert may(Account("ann", role), permission, "main") == allowed


@pytest.mark.parametrize("role", [VIEWER, OPERATOR])
def test_bundles_limit_viewers_and_operators(role: AccountRole) -> None:
    ann = Account("ann", role, ("main",))

    assert may(ann, READ, "main")
    assert not may(ann, READ, "other")
    assert not may(Account("ann", role, ()), READ, "main")
    assert may(ann, READ, None)


def test_an_admin_sees_every_bundle() -> None:
    ann = Account("ann", ADMIN, ("main",))

    assert may(ann, ADMINISTER, "other")
    assert permitted_bundles(ann) is None


@pytest.mark.parametrize(
    ("account", "role", "bundles", "expected"),
    [
        (Account("ann", ADMIN), VIEWER, ("a",), Account("ann", VIEWER, ("a",))),
        (Account("ann", ADMIN), ADMIN, None, Account("ann", ADMIN)),
        (Account("ann", VIEWER, ("a",)), ADMIN, None, Account("ann", VIEWER, ("a",))),
        (Account("ann", OPERATOR, ("a", "b")), VIEWER, ("b", "c"), Account("ann", VIEWER, ("b",))),
        (Account("ann", OPERATOR), OPERATOR, ("a",), Account("ann", OPERATOR, ("a",))),
    ],
)
def test_a_token_has_what_it_and_its_owner_have(
    account: Account, role: AccountRole, bundles: tuple[str, ...] | None, expected: Account
) -> None:
    assert narrowed(account, role, bundles) == expected


def test_a_token_exceeds_its_owner_by_role_or_bundle() -> None:
    ann = Account("ann", OPERATOR, ("a",))

    assert not exceeds(Account("ci", VIEWER, ("a",)), ann)
    assert exceeds(Account("ci", ADMIN), ann)
    assert exceeds(Account("ci", VIEWER, None), ann)
    assert exceeds(Account("ci", VIEWER, ("a", "b")), ann)


def test_a_name_is_stored_in_lower_case() -> None:
    assert account_name(" Ann@Example.org ") == "ann@example.org"


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "a:b", "-ann", "ä", "a" * 101])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(RequestError):
        account_name(name)


def test_bundles_are_stored_once_and_in_order() -> None:
    assert check_bundles(VIEWER, ["b", "a", "b"]) == ("a", "b")
    assert check_bundles(VIEWER, ["b", "*"]) is None
    assert check_bundles(ADMIN, None) is None
    with pytest.raises(RequestError, match="admin sees every bundle"):
        check_bundles(ADMIN, ["a"])


@pytest.mark.parametrize("password", ["", "elevencharz", "x" * 1001, "ann@example.org"])
def test_a_bad_password_is_refused_and_not_quoted(password: str) -> None:
    with pytest.raises(RequestError) as caught:
        check_password("ann@example.org", password)

    assert not password or password not in str(caught.value)
