"""An older revision, installed beside this checkout: a worktree with a virtual environment."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".headway" / "compare"
EXTRAS: Final = ".[api,oidc,spark,examples,dev]"
"""What `make install` installs; pip leaves out what an older revision does not have."""


def commit_of(revision: str) -> str | None:
    """Return the commit that a revision names; None if there is no such revision."""
    try:
        return _git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    except subprocess.CalledProcessError:
        return None


def installed(revision: str) -> Path:
    """Return the folder of that revision, with `.venv`; it is kept for the next time.

    Its dependencies have the versions of this checkout's `constraints.txt`, so that only
    Headway itself differs.
    """
    commit = commit_of(revision)
    assert commit is not None
    folder = CACHE / commit
    if not (folder / ".venv" / ".installed").exists():
        print(f"Installing {commit[:10]} beside this checkout (about two minutes) ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", "--force", str(folder), commit)
        subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
        pip = [str(folder / ".venv" / "bin" / "pip"), "install", "--quiet", "--use-pep517"]
        pip += ["--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, "--editable", EXTRAS], cwd=folder, check=True)
        (folder / ".venv" / ".installed").touch()
    return folder


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
