"""A task and a callback that record, outside of Headway, when they run."""

import os
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

from headway.sdk import DAG, task


def record(folder: Path) -> None:
    """Write the time down again and again, with a setsid process that does so too."""
    own = folder / f"marks-{uuid.uuid4()}"
    daemon = f"while :; do cut -d' ' -f1 /proc/uptime >> {own}; sleep 0.1; done"
    subprocess.Popen(["sh", "-c", daemon], start_new_session=True)
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    (folder / "nanny").write_text(f"{os.getppid()} {namespace}")
    while not (folder / "end").exists():
        with own.open("a") as marks:
            marks.write(f"{time.clock_gettime(time.CLOCK_BOOTTIME)}\n")
        time.sleep(0.05)


def calls(context: Any) -> None:
    record(Path(context["params"]["folder"]))


with DAG("marks"):

    @task
    def marking(params: dict[str, Any]) -> None:
        record(Path(params["folder"]))

    marking()

with DAG("marks_in_callback"):

    @task(on_success_callback=calls)
    def succeeds() -> None:
        pass

    succeeds()
