"""How often one may try to sign in: by account, by address, and by both.

Each subject has a number of tries at once, and gets one back after each `refill`.  So one address
cannot keep an account from signing in elsewhere, and many addresses cannot try many passwords.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

_NETWORK_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class LoginLimit:
    """How many tries there are at once, and after how many seconds one comes back."""

    burst: int
    refill: float


PER_PAIR: Final = LoginLimit(10, 30)
PER_ADDRESS: Final = LoginLimit(50, 5)
PER_ACCOUNT: Final = LoginLimit(100, 10)


def limits(name: str | None, address: str) -> dict[str, LoginLimit]:
    """Return what a try is counted for, with the limit of each; None is a name that none has."""
    network = network_of(address)
    found = {f"address {network}": PER_ADDRESS}
    if name is not None:
        found[f"account {name}"] = PER_ACCOUNT
        found[f"account {name} address {network}"] = PER_PAIR
    return found


def wait(limits: Mapping[str, LoginLimit], ahead: Mapping[str, float]) -> float:
    """Return after how many seconds a try is allowed, 0 if it is now.

    `ahead` tells by how many seconds the row of each subject is ahead of now.
    """
    return max(
        max(0.0, ahead.get(subject, 0.0) - (limit.burst - 1) * limit.refill)
        for subject, limit in limits.items()
    )


def network_of(address: str) -> str:
    """Return what tries from an address are counted for: of IPv6 the network of one site."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    host_bits = found.max_prefixlen - _NETWORK_BITS
    return f"{IPv6Address(int(found) >> host_bits << host_bits)}/{_NETWORK_BITS}"
