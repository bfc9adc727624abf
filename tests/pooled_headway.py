"""The `headway` command, but that the services of `standalone` go through PgBouncer."""

from functools import partial

from headway.cli import main, standalone
from headway.testing.pgbouncer import front

if __name__ == "__main__":
    standalone.run = partial(standalone.run, front=front)
    main.main()
