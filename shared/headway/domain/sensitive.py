"""What of a JSON value is secret: by the names that its parts have."""

from collections.abc import Iterator, Mapping
from typing import Final

from headway.domain.arguments import JsonValue

SENSITIVE: Final = (
    "access_key",
    "account_key",
    "api_key",
    "apikey",
    "authorization",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "secret",
    "signature",
    "token",
)
"""What the name of a field of extra holds when its value is a secret whatever type it has."""

NO_SECRETS: Final = frozenset({"true", "false", "none", "null", "yes", "no", "on", "off"})
"""What is no secret, wherever it stands."""


def is_sensitive(name: str) -> bool:
    """Return whether what stands under this name is a secret whatever type it has."""
    plain = name.lower().replace("-", "_")
    return any(word in plain for word in SENSITIVE)


def secret_texts(
    value: JsonValue | Mapping[str, JsonValue], *, sensitive: bool = False
) -> Iterator[str]:
    """Yield every text in a JSON value, and the numbers that stand under a sensitive name."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from secret_texts(item, sensitive=sensitive or is_sensitive(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from secret_texts(item, sensitive=sensitive)
    elif isinstance(value, str):
        if value and value.lower() not in NO_SECRETS:
            yield value
    elif sensitive and value is not None and not isinstance(value, bool):
        yield str(value)
