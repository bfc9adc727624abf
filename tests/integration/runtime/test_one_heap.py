"""The heap of a process with threads."""

import subprocess
import sys

import pytest

COUNT = """
import ctypes, sys, threading
from headway.runtime.processes.linux import share_one_heap

libc = ctypes.CDLL(None)
if sys.argv[1] == "shared":
    share_one_heap()
everyone_is_here = threading.Barrier(5)

def work():
    kept = [bytes(1000) for _ in range(100)]
    everyone_is_here.wait()

for _ in range(4):
    threading.Thread(target=work).start()
everyone_is_here.wait()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def heaps(how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True
    )
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries have other heaps")
def test_threads_share_one() -> None:
    assert heaps("as usual") > 1
    assert heaps("shared") == 1
