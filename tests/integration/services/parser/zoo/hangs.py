"""F55: files that are not done in time."""

from tests.integration.services.parser.zoo.keeper import TIMEOUT, Fault

LATE = (
    f"Reading the file took more than {TIMEOUT} s, and was stopped. Move slow work into tasks, or "
    "raise HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT."
)

HANGS = {
    "loops": Fault("while True: pass", LATE),
    "sleeps": Fault("import time; time.sleep(60)", LATE),
    "makes_tasks_without_end": Fault(
        """
        import itertools
        with DAG("endless"):
            for number in itertools.count():
                EmptyOperator(task_id=f"t{number % 100}_{number}")
                if number > 1000:
                    import time; time.sleep(0.01)
        """,
        LATE,
    ),
    "backtracks": Fault("import re; re.match('(a|a)*$', 'a' * 60 + 'b')", LATE),
    "ignores_every_signal": Fault(
        """
        import signal, time
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
        """,
        LATE,
    ),
}

QUICK = {
    "asks": Fault("input('Why? ')", "Traceback … EOFError: EOF when reading a line"),
    "recurses": Fault(
        """
        class Hall:
            def __getattr__(self, name):
                return self.mirror
        Hall().mirror
        """,
        "Traceback … RecursionError: maximum recursion depth exceeded",
    ),
}
"""What one might take for hanging, but is noticed at once."""
