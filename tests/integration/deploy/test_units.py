"""The systemd units are valid, and keep what the parser's sandbox is made of."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from headway.testing.processes.required import required_program

UNITS: Final = Path(__file__).parents[3] / "deploy" / "systemd"
SERVICES: Final = ("api", "parser", "scheduler", "worker")
SYSTEM: Final = Path("/usr/lib/systemd/system")

BREAKS_THE_SANDBOX: Final = (
    *("RestrictNamespaces", "SystemCallFilter", "ProtectProc", "ProcSubset"),
    *("ProtectKernelTunables", "ProtectKernelLogs", "MemoryDenyWriteExecute"),
)


def directives(unit: str) -> dict[str, str]:
    lines = (UNITS / unit).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_systemd_has_nothing_to_say_of_the_units(tmp_path: Path) -> None:
    analyze = required_program("systemd-analyze", "systemd")
    root = tmp_path / "root"
    shutil.copytree(SYSTEM, root / "lib/systemd/system", symlinks=True)
    shutil.copytree(UNITS, root / "etc/systemd/system")
    program = root / "opt/headway/bin/headway"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    names = [path.name for path in UNITS.iterdir() if path.suffix in (".service", ".target")]

    done = subprocess.run(
        [analyze, "verify", "--root", str(root), *names],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_parser_keeps_what_its_sandbox_needs() -> None:
    assert not set(directives("headway-parser.service")) & set(BREAKS_THE_SANDBOX)


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_has_an_account_and_a_home_of_its_own(service: str) -> None:
    its = directives(f"headway-{service}.service")

    assert its["User"] == f"headway-{service}"
    assert its["Environment"].startswith(f"HEADWAY_HOME=/var/lib/{its['StateDirectory']}") or (
        service in {"api", "worker"}
    )
    assert f"u headway-{service} " in (UNITS / "headway.sysusers.conf").read_text()
    assert its["ExecStart"] == f"/opt/headway/bin/headway {service}"
