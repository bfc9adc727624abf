"""The `headway` command, but that `standalone` leaves the addresses of its logins for tests.

Where the session wants that, its services go through PgBouncer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from headway.cli import main
from headway.cli.launch import stack, standalone
from headway.runtime.settings import configuration
from headway.testing.database import pgbouncer
from headway.testing.processes import modes


@contextmanager
def front(url: str) -> Iterator[Callable[[str], str]]:
    before = pgbouncer.front if modes.pooled() else stack.nothing
    addresses = configuration.home() / modes.ADDRESSES
    addresses.touch(mode=0o600)

    def noted(address: str) -> str:
        with addresses.open("a") as file:
            file.write(through(address) + "\n")
        return through(address)

    with before(url) as through:
        yield noted


if __name__ == "__main__":
    standalone.run = partial(standalone.run, front=front)
    main.main()
