"""Make virtual environments, once for each set of requirements."""

import fcntl
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from headway.sdk.exceptions import AirflowException
from headway.sdk.programs.shell import run_program

log = logging.getLogger(__name__)

_COMPLETE: Final = "headway-complete.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class VenvRequest:
    """What a virtual environment is to be.  Empty `index_urls` mean that there is no index."""

    requirements: tuple[str, ...] = ()
    python_version: str | None = None
    system_site_packages: bool = True
    pip_install_options: tuple[str, ...] = ()
    index_urls: tuple[str, ...] | None = None

    def described(self, tool: str) -> str:
        """Return all that it depends on, as text."""
        own = {"tool": tool, "interpreter": sys.version, "executable": sys.executable}
        return json.dumps({**asdict(self), **own}, sort_keys=True)


@contextmanager
def virtual_environment(wanted: VenvRequest, folder: Path | None) -> Iterator[Path]:
    """Give the Python of a virtual environment.

    In a `folder` it is kept, for whoever wants the same; without one it is removed at the end.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="headway-venv-") as own:
            yield _make(wanted, Path(own) / "venv")
    else:
        yield kept(wanted, folder)


def kept(wanted: VenvRequest, folder: Path) -> Path:
    """Return the Python of a virtual environment in the folder; it is made if it is not there.

    Others that want the same wait meanwhile.  One that is not complete, because its maker was
    killed, is made anew.
    """
    described = wanted.described(_tool())
    place = folder / f"venv-{sha256(described.encode()).hexdigest()[:20]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python, complete = _python(place), place / _COMPLETE
        if complete.is_file() and python.is_file():
            log.info("The virtual environment is %s.", place)
            return python
        shutil.rmtree(place, ignore_errors=True)
        try:
            _make(wanted, place)
            complete.write_text(described)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        log.info("The virtual environment was made in %s.", place)
        return python


def usable(folder: Path) -> Path | None:
    """Return the folder if virtual environments can be kept there, else None."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        able = os.access(folder, os.W_OK)
    except OSError:
        able = False
    if not able:
        log.warning(
            "No virtual environment can be kept in %s, so that one is made for this attempt; name "
            "another folder by venv_cache_path.",
            folder,
        )
    return folder if able else None


def _tool() -> str:
    return "uv" if shutil.which("uv") else "pip"


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _make(wanted: VenvRequest, place: Path) -> Path:
    uv = _tool() == "uv"
    site = ["--system-site-packages"] if wanted.system_site_packages else []
    if uv:
        base = wanted.python_version or sys.executable
        _run(["uv", "venv", "--quiet", *site, "--python", base, str(place)], {})
    else:
        bare = [] if wanted.requirements else ["--without-pip"]
        _run([_base(wanted), "-m", "venv", *site, *bare, str(place)], {})
    python = _python(place)
    if wanted.requirements:
        listed = place / "requirements.txt"
        listed.write_text("".join(f"{line}\n" for line in wanted.requirements))
        pip = ["uv", "pip", "install", "--python"] if uv else [str(python), "-m", "pip", "install"]
        target = [str(python)] if uv else []
        index = ["--no-index"] if wanted.index_urls == () else []
        command = [*pip, *target, *index, *wanted.pip_install_options, "-r", str(listed)]
        _run(command, _indexes(wanted.index_urls or ()))
    return python


def _base(wanted: VenvRequest) -> str:
    if wanted.python_version is None:
        return sys.executable
    found = shutil.which(f"python{wanted.python_version}")
    if found is None:
        raise AirflowException(
            f"There is no python{wanted.python_version} on the PATH of the worker; install it "
            "there, or uv, which fetches it."
        )
    return found


def _indexes(urls: Sequence[str]) -> Mapping[str, str]:
    """Return the indexes as variables: arguments, which may hold passwords, can be seen by all."""
    if not urls:
        return {}
    first, *others = urls
    return {
        f"{tool}_{name}": value
        for tool in ("PIP", "UV")
        for name, value in (("INDEX_URL", first), ("EXTRA_INDEX_URL", " ".join(others)))
        if value
    }


def _run(command: Sequence[str], variables: Mapping[str, str]) -> None:
    # This is what a command inherits from us, not a setting that we read.
    environment = {**os.environ, **variables}  # noqa: TID251
    environment.pop("PYTHONPATH", None)
    code, last = run_program(command, environment, None)
    if code:
        raise AirflowException(
            f"The virtual environment cannot be made: {' '.join(command[:3])} … exited with "
            f"{code}, and said last: {last}"
        )
