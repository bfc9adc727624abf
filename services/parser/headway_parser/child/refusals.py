"""What a DAG file is refused while it is read: told to its author, with the way around it."""

import resource
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_INTERNET: Final = frozenset({socket.AF_INET, socket.AF_INET6})
_socket = socket.socket


@dataclass(slots=True)
class Refusals:
    """What this process has tried that it may not, as an audit hook sees it."""

    network: bool = False

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note that a connection is to be opened, or a host's address looked up."""
        if event == "socket.getaddrinfo" or (
            event == "socket.__new__" and arguments[1] in _INTERNET
        ):
            self.network = True

    def advice(self, error: BaseException) -> Iterator[str]:
        """Yield what to do about an error that comes of a limit."""
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if isinstance(error, MemoryError) and limit != resource.RLIM_INFINITY:
            yield (
                f"Reading a DAG file may take {limit:,} bytes of memory. Move the work into "
                "tasks, or raise HEADWAY_PARSER_DAG_FILE_MEMORY_LIMIT_BYTES."
            )
        if self.network and _is_cut_off():
            yield (
                "DAG files may not use the network while they are read. Move that into tasks, "
                "or set HEADWAY_PARSER_PARSE_NETWORK=true."
            )
        if isinstance(error, PermissionError) and error.filename is not None:
            yield (
                "While it is read a DAG file may read its bundle and what is installed, and "
                "write to its temporary folder alone. HEADWAY_PARSER_READABLE_PATHS names more "
                "folders."
            )


def _is_cut_off() -> bool:
    try:
        _socket().close()
    except OSError:
        return True
    return False
