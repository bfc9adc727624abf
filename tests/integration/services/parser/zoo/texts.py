"""F60: files that are no Python, or no files."""

import os
from collections.abc import Callable
from pathlib import Path

SYNTAX = "… SyntaxError: …"

TEXTS = {
    "syntax": (b"from headway.sdk import DAG\nwith DAG('x')\n", SYNTAX),
    "null_bytes": (b"from headway.sdk import DAG\nDAG('x\0')\n", "… null bytes…"),
    "utf_16": ("from headway.sdk import DAG\nDAG('x')\n".encode("utf-16"), SYNTAX),
    "latin": (b"from headway.sdk import DAG\nDAG('caf\xe9')\n", SYNTAX),
    "tabs": (
        b"from headway.sdk import DAG\nif DAG:\n\tDAG('x')\n        DAG('y')\n",
        "…TabError: …",
    ),
    "nested": (b"# dag headway\n" + b"(" * 10_000 + b")" * 10_000, "…"),
    "binary": (b"\x7fELF\x02\x01 dag headway " + bytes(range(256)) * 100, "…"),
}
"""What is in them, and the error that they must get."""


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"# dag headway\n")
        file.truncate(200 * 2**20)


def bad(path: Path) -> None:
    path.write_text("# dag headway\n1 / 0\n")


def deep(path: Path) -> None:
    """Make a tree that is deeper than any path is long."""
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with open(os.open("d.py", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:  # noqa: PTH123
        file.write("# dag headway\nraise ValueError\n")
    os.close(here)


def loop(path: Path) -> None:
    path.mkdir()
    (path / "round").symlink_to(path)
    (path / "again.py").symlink_to("again.py")


NO_FILES: dict[str, Callable[[Path], None]] = {
    "empty.py": Path.touch,
    "folder.py": Path.mkdir,
    "pipe.py": os.mkfifo,
    "zeros.py": lambda path: path.symlink_to("/dev/zero"),
    "terminal.py": lambda path: path.symlink_to("/dev/tty"),
    "dangling.py": lambda path: path.symlink_to("nowhere"),
    "loop": loop,
    "deep": deep,
    "new\nline.py": bad,
    "latin_\udce9.py": bad,
    "bell\a.py": bad,
}
"""How to make what is left out."""
