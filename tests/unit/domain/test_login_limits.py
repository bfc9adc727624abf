"""How long to wait for the next try to sign in."""

import pytest

from headway.domain.login_limits import PER_ADDRESS, PER_PAIR, LoginLimit, limits, network_of, wait

LIMIT = LoginLimit(burst=3, refill=10)


@pytest.mark.parametrize(
    ("ahead", "expected"), [(-5.0, 0.0), (0.0, 0.0), (20.0, 0.0), (21.0, 1.0), (30.0, 10.0)]
)
def test_after_a_burst_one_try_comes_back_at_a_time(ahead: float, expected: float) -> None:
    assert wait({"a": LIMIT}, {"a": ahead}) == expected


def test_the_narrowest_limit_counts() -> None:
    assert wait({"a": LIMIT, "b": LIMIT}, {"a": 25.0, "b": 22.0}) == 5.0


def test_a_try_is_counted_for_the_account_the_address_and_both() -> None:
    found = limits("ann", "192.0.2.1")

    assert list(found) == [
        "address 192.0.2.1",
        "account ann",
        "account ann address 192.0.2.1",
    ]
    assert limits(None, "192.0.2.1") == {"address 192.0.2.1": PER_ADDRESS}
    assert found["account ann address 192.0.2.1"] is PER_PAIR


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("nonsense", "unknown"),
    ],
)
def test_a_site_of_ipv6_counts_as_one_address(address: str, expected: str) -> None:
    assert network_of(address) == expected
