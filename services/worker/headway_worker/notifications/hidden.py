"""What of a connection is hidden where it is used to tell people something."""

from collections.abc import Iterator, Mapping
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.sensitive import is_sensitive, secret_texts

_MAY_BE_SECRET: Final = frozenset({"headers", "url"})


def hidden_of(connection: Connection) -> frozenset[str]:
    """Return the password, and what of extra stands under names of secrets, a header or a URL.

    All else, such as a severity or an address, is part of what messages and their logs are to say.
    """
    return frozenset([*filter(None, [connection.password]), *_secrets(connection.extra)])


def _secrets(extra: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(extra, Mapping):
        for name, value in extra.items():
            if name in _MAY_BE_SECRET or is_sensitive(name):
                yield from secret_texts(value, sensitive=True)
            else:
                yield from _secrets(value)
    elif isinstance(extra, list | tuple):
        for value in extra:
            yield from _secrets(value)
