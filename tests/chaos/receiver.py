"""A web server that is told of missed deadlines, and that can lose an acknowledgement."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread


@dataclass(frozen=True, slots=True)
class Post:
    """One message that came."""

    key: str
    """What identifies the message, however often it comes."""

    told: tuple[tuple[str, str, str], ...]
    """DAG, run, and name of each missed deadline that it tells of."""


class Receiver(ThreadingHTTPServer):
    """Notes each post before it is acknowledged."""

    daemon_threads = True

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.lost = 0
        """How many posts were not acknowledged."""
        self._lose = False
        self._lock = Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def lose_next(self, wanted: bool = True) -> None:
        """Close the connection of the next post without an answer, or do so no more."""
        with self._lock:
            self._lose = wanted

    def note(self, post: Post) -> bool:
        """Note a post; return whether it is to be acknowledged."""
        with self._lock:
            self.posts.append(post)
            lose, self._lose = self._lose, False
            self.lost += lose
            return not lose


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Take a message."""
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = tuple((said["dag_id"], said["run_id"], event["reason"]) for event in said["events"])
        if self.server.note(Post(self.headers["Idempotency-Key"], told)):
            self.send_response(204)
            self.end_headers()
        else:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a port of this machine."""
    with Receiver() as receiver:
        thread = Thread(target=receiver.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()
