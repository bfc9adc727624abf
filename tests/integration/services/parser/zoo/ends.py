"""F54: files that end the process that reads them."""

from tests.integration.services.parser.zoo.keeper import Fault


def ended(how: str) -> str:
    return f"Reading the file ended its process ({how}); it must not do that."


ENDS = {
    "exits_minus_one": Fault(
        "import sys; sys.exit(-1)",
        "exits_minus_one.py calls sys.exit(-1) while it is imported; "
        "a DAG file must only define DAGs.",
    ),
    "raises_system_exit": Fault(
        "raise SystemExit('enough')",
        "raises_system_exit.py calls sys.exit('enough') while it is imported; "
        "a DAG file must only define DAGs.",
    ),
    "leaves_with_0": Fault("import os; os._exit(0)", ended("exit code 0")),
    "leaves_with_1": Fault("import os; os._exit(1)", ended("exit code 1")),
    "interrupts": Fault("raise KeyboardInterrupt", "Traceback … KeyboardInterrupt"),
    "raises_no_exception": Fault(
        "raise type('Odd', (BaseException,), {})('indeed')", "Traceback … indeed"
    ),
    "stops_itself": Fault(
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "Traceback … PermissionError: [Errno 1] Operation not permitted",
    ),
    "aborts": Fault("import os; os.abort()", ended("signal 6, Aborted") + "…"),
    "dereferences_null": Fault(
        "import ctypes; ctypes.string_at(0)", ended("signal 11, Segmentation fault") + "…"
    ),
    "overflows_the_stack": Fault(
        """
        import sys
        sys.setrecursionlimit(10**9)
        def deeper():
            return list(map(lambda _: deeper(), [0]))
        deeper()
        """,
        ended("signal 11, Segmentation fault") + "…",
    ),
    "kills_itself": Fault(
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ended("signal 9, Killed")
    ),
    "kills_its_group": Fault(
        "import os, signal; os.killpg(0, signal.SIGKILL)", ended("signal 9, Killed")
    ),
    "kills_its_parent": Fault(
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
        "Traceback … PermissionError: [Errno 1] Operation not permitted",
    ),
}
