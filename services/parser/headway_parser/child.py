"""What a parser's child process does: read one DAG file, and say what it defines."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Final

from headway.domain.errors import HeadwayError
from headway.runtime.frames import Frame, send_frame
from headway.sdk.loading import load_dag_file
from headway.sdk.specification import to_spec
from headway.sdk.tracebacks import message_of, traceback_of
from headway.serialization import codec

TARGET: Final = "headway_parser.child:parse"
MOST_CODE: Final = 8 * 2**20
"""Bytes of source that a DAG file may take in from its bundle."""


@dataclass(slots=True)
class FilesRead:
    """The files below a folder that this process opens, as an audit hook sees them."""

    root: Path
    paths: set[str] = field(default_factory=set)

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note the path, when a file of the folder is opened for reading."""
        if event == "open" and isinstance(arguments[0], str) and _reads(arguments):
            self.note(arguments[0])

    def note(self, opened: str) -> None:
        """Note a path, if it lies in the folder."""
        path = os.path.normpath(os.path.join(os.getcwd(), opened))  # noqa: PTH109, PTH118
        prefix = f"{self.root}/"
        if path.startswith(prefix) and "/__pycache__/" not in path:
            self.paths.add(path.removeprefix(prefix))


def parse(argument: Mapping[str, object], channel: socket) -> None:
    """Parse the file `path` of the bundle in `root`; answer with one frame.

    The answer holds the `dags` as serialized bytes and the `files` that they were
    read from; or an `error`, and the names of the files that were `read` until then.
    """
    path = str(argument["path"])
    read = FilesRead(Path(str(argument["root"])))
    sys.addaudithook(read.hook)
    try:
        answer = _parse(read, path)
    except HeadwayError as error:
        answer = {"error": str(error), "read": sorted(read.paths)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - here one DAG file is isolated
        answer = {"error": _explain(error), "read": sorted(read.paths)}
    send_frame(channel, answer)


def _parse(read: FilesRead, path: str) -> Frame:
    root = read.root
    dags = load_dag_file(root / path, root)
    specs = [to_spec(dag, path) for dag in dags]
    for module in list(sys.modules.values()):
        read.note(getattr(module, "__file__", None) or "")
    named = {file for spec in specs for file in spec.files}
    there = {name for name in read.paths if (root / name).is_file()}  # others were looked for only
    contents = {name: (root / name).read_bytes() for name in there | named | {path}}
    size = sum(map(len, contents.values()))
    if size > MOST_CODE:
        raise HeadwayError(
            f"The file reads {size:,} bytes of its DAGs folder; {MOST_CODE:,} is the limit. "
            "Keep data outside the folder, and read it inside tasks."
        )
    return {"dags": [codec.encode(spec) for spec in specs], "files": contents}


def _reads(arguments: tuple[object, ...]) -> bool:
    mode = arguments[1] if len(arguments) > 1 else None
    return not isinstance(mode, str) or not set(mode) & set("wax+")


def _explain(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The file called sys.exit({error.code!r}) while it was read; DAG files must not."
    return traceback_of(error, __file__) or message_of(error)
