"""A password in a bundle's URL reaches the remote, and no command line."""

import base64
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from headway.testing.processes.required import required_program
from headway_parser.bundles.git_command import GitCommand, GitError, without_passwords

PASSWORD = "ge/heim%"
ESCAPED = "ge%2Fheim%25"


class Remote(ThreadingHTTPServer):
    """A server that asks for a login, and looks meanwhile at all command lines."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.logins: list[str] = []
        self.command_lines: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://robot:{ESCAPED}@127.0.0.1:{self.server_port}/dags.git"


class Handler(BaseHTTPRequestHandler):
    server: Remote

    def do_GET(self) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                self.server.command_lines.append((folder / "cmdline").read_bytes())
            except OSError:
                continue
        said = self.headers.get("Authorization")
        if said is not None:
            self.server.logins.append(base64.b64decode(said.partition(" ")[2]).decode())
        self.send_response(401 if said is None else 404)
        self.send_header("WWW-Authenticate", 'Basic realm="dags"')
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def remote() -> Iterator[Remote]:
    with Remote() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_password_is_on_no_command_line(remote: Remote, tmp_path: Path) -> None:
    required_program("git", "git")
    others = tmp_path / "asked"
    (tmp_path / ".gitconfig").write_text(f'[credential]\n helper = "!touch {others}; false"\n')
    git = GitCommand.find({**os.environ, "HOME": str(tmp_path)})

    with pytest.raises(GitError):
        git("ls-remote", "--", remote.url, "HEAD")

    assert remote.logins
    assert set(remote.logins) == {f"robot:{PASSWORD}"}
    seen = b"\n".join(remote.command_lines)
    assert b"ls-remote" in seen
    assert ESCAPED.encode() not in seen
    assert PASSWORD.encode() not in seen
    assert not others.exists()


def test_what_has_no_password_is_left_alone() -> None:
    arguments = ["fetch", "--", "https://robot@example.org/x", "ssh://a:b@example.org/x"]

    shown, logins = without_passwords(arguments)

    assert shown == arguments
    assert logins.options == ()
