"""Tasks that take all they can get, spoil what they find, or will not go."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import sleep

from headway.sdk import DAG, task

GRAB = "b = bytearray(600_000_000); import time; time.sleep(600)"

with DAG("takes_all"):

    @task(retries=1, retry_delay=0)
    def memory_of_a_grandchild(try_number: int) -> str:
        if try_number == 1:
            subprocess.run([sys.executable, "-c", GRAB], start_new_session=True, check=False)
        return "modest"

    @task
    def processes() -> None:
        children = []  # of little memory each
        while True:
            children.append(subprocess.Popen(["sleep", "600"]))

    @task
    def threads() -> None:
        while True:
            threading.Thread(target=signal.pause, daemon=True).start()
            sleep(0.005)

    @task
    def files() -> None:
        opened = [os.open(os.devnull, os.O_RDONLY)]
        while True:
            opened.append(os.dup(opened[0]))

    @task
    def own_score() -> str:
        return Path("/proc/self/oom_score_adj").read_text().strip()

    for greedy in (memory_of_a_grandchild, processes, threads, files, own_score):
        greedy()

with DAG("spoils"):

    @task
    def closes_everything() -> None:
        os.closerange(0, 256)
        sleep(600)

    @task
    def writes_everywhere() -> None:
        for descriptor in range(256):
            try:
                os.write(descriptor, b"\xff" * 4096)
            except OSError:
                continue
        sleep(600)

    @task
    def announces_too_much() -> None:
        for descriptor in range(3, 256):
            try:
                os.write(descriptor, b"\x7f\xff\xff\xff")
            except OSError:
                continue
        sleep(600)

    @task
    def closes_its_output() -> str:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        return "well"

    for spoiling in (closes_everything, writes_everywhere, announces_too_much, closes_its_output):
        spoiling()

with DAG("will_not_go"):

    @task
    def exits_with_120() -> None:
        os._exit(120)

    @task
    def leaves_a_daemon_thread() -> str:
        threading.Thread(target=sleep, args=(600,), daemon=True).start()
        return "done"

    @task
    def leaves_a_thread() -> str:
        threading.Thread(target=sleep, args=(600,)).start()
        return "done"

    @task(execution_timeout=1)
    def blocks_all_signals() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                sleep(600)
        sleep(600)

    for staying in (exits_with_120, leaves_a_daemon_thread, leaves_a_thread, blocks_all_signals):
        staying()

with DAG("canary"):

    @task
    def sings() -> str:
        return "song"

    sings()
