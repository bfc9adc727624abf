"""What the journal calls whoever runs a command."""

import getpass

import pytest

from headway.cli.input import session


@pytest.mark.parametrize("error", [KeyError("uid not found: 10001"), OSError("no username")])
def test_an_account_without_a_name_is_unknown(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def no_name() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", no_name)

    assert (session.account(), session.actor()) == ("unknown", "user:unknown")
