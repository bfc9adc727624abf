"""Hashes of passwords that cost little, for tests with many accounts."""

import pytest

from headway.runtime.secrets import passwords


def hash_at_little_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process hash passwords in less than a millisecond, not in a tenth of a second."""
    monkeypatch.setattr(passwords, "COST", passwords.ScryptCost(4, 8, 1))
