"""Tasks that print more, and other things, than a log is made for; and one that waits."""

# ruff: noqa: T201

import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from headway.sdk import DAG, task

log = logging.getLogger("reports.daily")


def until_there(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.05)


with DAG("floods"):

    @task
    def two_gigabytes() -> str:
        subprocess.run("yes | head -c 2000000000; echo; echo the end", shell=True, check=True)
        return "dry"

    @task
    def one_line_of_100_megabytes() -> str:
        subprocess.run("head -c 100000000 /dev/zero | tr '\\0' y", shell=True, check=True)
        return "broken"

    @task
    def no_text() -> str:
        sys.stdout.buffer.write(b"\0\xff\xfe\x1b[31mred\x1b[0m\x1b]0;title\x07\x80 end\n" * 3)
        subprocess.run(["head", "-c", "1000000", "/dev/urandom"], check=True)
        return "fine"

    @task
    def a_million_lines() -> str:
        sys.stdout.write("".join(f"{number}\n" for number in range(1_000_000)))
        return "counted"

    two_gigabytes()
    one_line_of_100_megabytes()
    no_text()
    a_million_lines()

with DAG("talks"):

    @task
    def says_things() -> None:
        print("to stdout")
        print("to stderr", file=sys.stderr)
        log.debug("too little to be told")
        log.info("an info")
        log.warning("a warning\nof two lines")
        try:
            raise ValueError("inner")
        except ValueError:
            log.exception("an error")

    says_things()

with DAG("takes_its_time", params={"folder": "", "more": 0}):

    @task(retries=1, retry_delay=0)
    def waits(params: dict[str, Any], try_number: int) -> None:
        print(f"attempt {try_number} has begun", flush=True)
        until_there(f"{params['folder']}/go{try_number}")
        print("it goes on", flush=True)
        for number in range(params["more"]):
            print("more", number)
        if try_number == 1:
            raise RuntimeError("once more")

    waits()
