"""The names under which DAG files are imported."""

import re
from hashlib import blake2b
from pathlib import PurePath
from typing import Final

PREFIX: Final = "headway_dag_file"
_MANGLED: Final = re.compile(rf"{PREFIX}_[0-9a-f]{{12}}_")


def module_name(relative_path: PurePath) -> str:
    """Return the name for the DAG file with this path below its bundle; it is always the same."""
    digest = blake2b(relative_path.as_posix().encode(), digest_size=6).hexdigest()
    return f"{PREFIX}_{digest}_{relative_path.stem}"


def shown_names(text: str) -> str:
    """Return a text with the names of modules as their author knows them."""
    return _MANGLED.sub("", text)
