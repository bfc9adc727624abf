"""The commands of docs/api.md are carried out beside a `headway standalone`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headway.testing.processes.required import required_program
from headway.testing.services.machine import Machine
from headway.testing.time.clock import PATIENCE

pytestmark = pytest.mark.services

PAGE = Path(__file__).parents[4] / "docs" / "api.md"


def test_the_first_requests_are_answered(machine: Machine, dags: Path) -> None:
    curl = Path(required_program("curl", "curl"))
    [script] = re.findall(r"^## First requests.*?```sh\n(.*?)```", PAGE.read_text(), re.M | re.S)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{curl.parent}"
    with machine.standalone(dags) as (standalone, _engine):
        found = standalone.until(
            lambda: re.search(r"^API: (\S+)", standalone.printed(), re.M), "its API"
        )
        wait = f"curl --silent --output /dev/null --retry 20 --retry-connrefused {found[1]}"
        done = subprocess.run(
            ["bash", "-euc", f"{wait}\n{script}"],
            env={
                **machine.environment,
                "PATH": f"{programs}{os.pathsep}{machine.environment['PATH']}",
                "api": found[1],
            },
            cwd=machine.root,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert script.count("curl") >= 3
    assert '"name":"admin"' in done.stdout.replace(" ", "")
