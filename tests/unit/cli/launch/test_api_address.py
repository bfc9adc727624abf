"""By which address the API of this machine is reached."""

import socket
from contextlib import suppress

import pytest

from headway.cli.launch import api_address
from headway.cli.launch.api_address import ApiAddress
from headway.domain.errors import SettingsError


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8793"),
        ("0.0.0.0", "http://127.0.0.1:8793"),
        ("::", "http://[::1]:8793"),
        ("::1", "http://[::1]:8793"),
        ("box.example.org", "http://box.example.org:8793"),
    ],
)
def test_the_address_is_one_that_this_machine_reaches(host: str, url: str) -> None:
    assert ApiAddress(host, 8793).url == url


def test_two_launchers_at_the_same_moment_take_different_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither API listens yet when the other launcher looks."""
    monkeypatch.delenv("HEADWAY_API_PORT", raising=False)
    with api_address.claimed() as first, api_address.claimed() as second:
        assert first is not None
        assert second is not None
        assert first.port != second.port


def test_a_port_that_is_set_and_claimed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_API_PORT", "0")
    with api_address.claimed() as first:
        assert first is not None
        monkeypatch.setenv("HEADWAY_API_PORT", str(first.port))
        with (
            pytest.raises(SettingsError, match=f"HEADWAY_API_PORT is {first.port}"),
            api_address.claimed(),
        ):
            pytest.fail("two launchers have the same port")


def test_where_the_usual_port_is_taken_another_one_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADWAY_API_PORT", raising=False)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # then somebody else listens there, which is as good
            other.bind(("127.0.0.1", 8793))
            other.listen()
        with api_address.claimed() as api:
            assert api is not None
            assert api.port != 8793
