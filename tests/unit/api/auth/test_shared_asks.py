"""Which accounts see the same page."""

import pytest

from headway.domain.accounts import Account, AccountRole
from headway_api.auth.shared_asks import rights_of

VIEWER, OPERATOR, ADMIN = AccountRole.VIEWER, AccountRole.OPERATOR, AccountRole.ADMIN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Account("ann", VIEWER), Account("bob", VIEWER)),
        (Account("ann", VIEWER, ("a", "b")), Account("bob", VIEWER, ("b", "a"))),
        (Account("ann", ADMIN, ("a",)), Account("bob", ADMIN)),
    ],
)
def test_accounts_that_may_do_the_same_have_the_same_rights(one: Account, other: Account) -> None:
    assert rights_of(one) == rights_of(other)
    assert rights_of(one).name == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Account("ann", VIEWER), Account("ann", OPERATOR)),
        (Account("ann", VIEWER), Account("ann", VIEWER, ("a",))),
        (Account("ann", VIEWER, ("a",)), Account("ann", VIEWER, ("b",))),
        (Account("ann", VIEWER, ()), Account("ann", VIEWER)),
    ],
)
def test_accounts_that_may_do_something_else_have_other_rights(
    one: Account, other: Account
) -> None:
    assert rights_of(one) != rights_of(other)
