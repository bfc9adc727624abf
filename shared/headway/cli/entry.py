"""Where the `headway` command begins, before most of its modules are read, and where it ends."""

import signal

from headway.runtime.processes import garbage


def main() -> None:
    """Run the command.  A Ctrl-C while Python still reads modules ends it without a word."""
    garbage.hardly_ever()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else whoever started it has Ctrl-C ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from headway.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    try:
        run()
    finally:
        garbage.never_again()
