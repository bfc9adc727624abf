"""`headway` with a parser as on a kernel without namespaces and Landlock, of one user alone."""

from functools import partial

from headway.cli import main
from headway.runtime.forker import Forker
from headway.testing.processes.sandboxes import EVERY, WEAK

if __name__ == "__main__":
    Forker.start = partial(Forker.start, without=EVERY - WEAK)  # type: ignore[method-assign]
    main.main()
