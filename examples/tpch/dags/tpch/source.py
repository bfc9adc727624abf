"""The data of TPC-H at any scale, made by the program tpchgen-cli."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PROGRAM: Final = "tpchgen-cli"
LARGEST: Final = 1000
TABLES: Final = ("customer", "lineitem", "nation", "orders", "region", "supplier")
"""The tables that the five queries read."""


def folder_of(params: Mapping[str, object]) -> Path:
    """Return the folder of the data: one for each scale, below the param `output`."""
    root = Path(str(params["output"])).expanduser()
    if not root.is_absolute():
        raise ValueError(
            f"The param `output` is {str(root)!r}; make it an absolute path, because workers and "
            "Spark each run in a folder of their own."
        )
    return root / f"sf{scale_of(params):g}"


def scale_of(params: Mapping[str, object]) -> float:
    """Return the scale: 1 is 6 million line items."""
    scale = params["scale"]
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= LARGEST:
        raise ValueError(
            f"The param `scale` must be a number above 0, up to {LARGEST}, not {scale!r}."
        )
    return float(scale)


def generate(folder: Path, scale: float) -> None:
    """Make the tables, one Parquet file each, unless they are there.

    The folder appears whole or not at all, so this may be killed and called again.
    """
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".generating-") as scratch:
        made = Path(scratch) / "tables"
        options = ["--scale-factor", f"{scale:g}", "--tables", ",".join(TABLES)]
        subprocess.run([_program(), "parquet", *options, "--output-dir", str(made)], check=True)
        made.rename(folder)


def _program() -> str:
    beside = Path(sys.executable).with_name(PROGRAM)
    found = str(beside) if beside.exists() else shutil.which(PROGRAM)
    if found is None:
        raise FileNotFoundError(
            f"{PROGRAM} is not installed; run `pip install 'headway[examples]'`."
        )
    return found
