"""F56 and F57: files that take too much, leave something behind, or print without end."""

from tests.integration.services.parser.zoo.ends import ended
from tests.integration.services.parser.zoo.keeper import ANSWER, MEMORY, OUTPUT, Fault

NO_MEMORY = (
    f"MemoryError\nReading a DAG file may take {MEMORY:,} bytes of memory. Move the work into "
    "tasks, or raise HEADWAY_PARSER_DAG_FILE_MEMORY_LIMIT_BYTES."
)
PRINTED = (
    f"Reading the file printed more than {OUTPUT:,} bytes, and was stopped. Print inside tasks.\n"
    "It printed:\n…"
)

GREED = {
    "takes_a_terabyte": Fault("hoard = bytearray(2**40)", f"Traceback … {NO_MEMORY}"),
    "takes_the_last_byte": Fault(
        """
        hoard, size = [], 2**24
        while size:
            try:
                hoard.append(bytearray(size))
            except MemoryError:
                size //= 2
        raise MemoryError
        """,
        f"Traceback … {NO_MEMORY}",
    ),
    "opens_a_million": Fault(
        """
        import os
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(10**6)]
        """,
        "Traceback … OSError: [Errno 24] Too many open files: '/dev/null'",
    ),
    "forks_without_end": Fault(
        """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
        "Reading the file started more than 128 processes and threads, and was stopped.…",
    ),
    "starts_threads_without_end": Fault(
        """
        import threading
        while True:
            threading.Thread(target=threading.Event().wait).start()
        """,
        "…",
    ),
    "fills_the_disk": Fault(
        """
        import tempfile
        with tempfile.TemporaryFile() as file:
            while True:
                file.write(bytes(2**20))
        """,
        "Traceback … OSError: [Errno 27] File too large",
    ),
    "floods_stdout": Fault(
        """
        import sys
        for _ in range(1000):
            sys.stdout.write("x" * 10**6)
        """,
        PRINTED,
    ),
    "floods_stderr": Fault(
        """
        import os
        while True:
            os.write(2, b"x" * 10**6)
        """,
        PRINTED,
    ),
    "writes_everywhere": Fault(
        """
        import os
        for descriptor in range(256):
            try:
                os.write(descriptor, b"junk")
            except OSError:
                pass
        """,
        "What the file left behind cannot be used: A frame of 1,786,080,875 bytes was announced; "
        f"{ANSWER:,} is the limit.\nIt printed:\njunkjunk",
    ),
    "closes_everything": Fault("import os; os.closerange(0, 256)", ended("exit code 1")),
}

LEFT_BEHIND = {
    "leaves_a_thread": "import threading; threading.Thread(target=threading.Event().wait).start()",
    "returns_twice": "import os; os.fork()",
    "hangs_at_exit": "import atexit, time; atexit.register(time.sleep, 60)",
    "leaves_a_daemon": """
        import ctypes, os, signal, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                ctypes.CDLL(None).prctl(15, b"zoo daemon")
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                time.sleep(600)
            os._exit(0)
        os.wait()
        """,
    "leaves_files": """
        import os, tempfile
        from pathlib import Path
        (Path(tempfile.gettempdir()) / "left").write_text("behind")
        (Path(tempfile.gettempdir()) / "closed").mkdir(mode=0)
        """,
}
"""What is no error, and of which nothing is left when the file has been read."""
