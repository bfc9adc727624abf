"""The pip of this environment: asked for releases, and told to install."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headway.cli.providers.requirements import ProviderRelease
from headway.domain.errors import ConflictError, NotFoundError

_PINNED: Final = (
    "A constraint is the version that is installed here, which stays, or what an installed "
    "provider package requires. `pip show NAME` tells which packages require it. If a version "
    "suits all of them, install that version by pip, and run this command again. Or name in this "
    "command a release of that provider package that suits."
)


class Pip:
    """Run pip with this Python, in this environment."""

    def __init__(self) -> None:
        if find_spec("pip") is None:
            raise NotFoundError(
                "pip is not installed in this environment, and installs provider packages. "
                "Install it: python -m ensurepip, or uv pip install pip."
            )

    def releases(self, wanted: Sequence[Requirement]) -> dict[str, ProviderRelease]:
        """Return the newest release for each requirement; nothing is installed."""
        texts = [str(each) for each in wanted]
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            options = ("--dry-run", "--ignore-installed", "--no-deps", "--report", str(report))
            _install([*options, *texts], texts)
            found: Mapping[str, Any] = json.loads(report.read_bytes())
        return {
            canonicalize_name(each["metadata"]["name"]): ProviderRelease(
                each["metadata"]["version"], tuple(each["metadata"].get("requires_dist", ()))
            )
            for each in found["install"]
        }

    def install(self, wanted: Sequence[str], pins: Sequence[str]) -> None:
        """Install requirements and what they require, within the constraints `pins`."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "constraints.txt"
            file.write_text("".join(f"{pin}\n" for pin in pins))
            _install(["--constraint", str(file), *wanted], wanted)

    def install_alone(self, wanted: Sequence[str]) -> None:
        """Install requirements, and nothing that they require."""
        _install(["--no-deps", *wanted], wanted)


def _install(arguments: Sequence[str], wanted: Sequence[str]) -> None:
    command = (sys.executable, "-m", "pip", "install", "--no-input", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConflictError(f"pip could not install {', '.join(wanted)}. It says:\n{_said(done)}")


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what pip says of an error: which requirements conflict, and the error itself."""
    _, caused, conflict = done.stdout.partition("The conflict is caused by:")
    errors = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
    hint = [_PINNED] if "(constraint)" in conflict else []
    return "\n".join([*([caused + conflict.rstrip()] if caused else []), *errors, *hint])
