"""By which address the API of this machine is reached."""

import pytest

from headway.cli.launch.api_address import ApiAddress


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
