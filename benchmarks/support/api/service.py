"""A real api process on one database: what it answers, how soon, and what it uses."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from threading import Lock, Thread, local
from typing import Final

import psutil

from benchmarks.support.api.client import PATIENCE, BenchClient
from benchmarks.support.meter import cpu_seconds
from benchmarks.support.server import Database
from headway.actions.accounts import change, tokens
from headway.actions.accounts.tokens import TokenRequest
from headway.actions.change import Author
from headway.db.access.logins import Login
from headway.domain.accounts import Account, AccountRole
from headway.runtime.processes.parent_death import dies_with_parent

CLIENTS: Final = 32
"""Threads that ask at a rate: as many requests may be under way."""

_LISTENS: Final = re.compile(r"action=listen host=\S+ port=(\d+)")
_AUTHOR: Final = Author("benchmark")
_PASSWORD: Final = "a password of benchmarks"


@dataclass(slots=True)
class ApiService:
    """An api process, an admin's token for it, and the folder that is its home."""

    process: "subprocess.Popen[bytes]"
    port: int
    token: str
    home: Path
    _own: local = field(default_factory=local)

    def get(self, path: str) -> bytes:
        """Return what a path answers, by a connection that this thread keeps."""
        client: BenchClient | None = getattr(self._own, "client", None)
        if client is None:
            client = self._own.client = BenchClient(self.port, self.token)
        return client.get(path)

    def seconds(self, path: str) -> float:
        """Return how long a request takes."""
        began = time.perf_counter()
        self.get(path)
        return time.perf_counter() - began

    def at_rate(self, path: str, rate: float, seconds: float, chance: Random) -> list[float]:
        """Return how long requests take that arrive by chance, so many a second.

        A request's time begins when it arrives, also where it has to wait for a client.
        """
        arrivals = _arrivals(rate, seconds, chance)
        taken: list[float] = []
        lock, began = Lock(), time.perf_counter() + 0.2

        def ask() -> None:
            while True:
                with lock:
                    if not arrivals:
                        return
                    at = began + arrivals.pop(0)
                time.sleep(max(at - time.perf_counter(), 0.0))
                self.get(path)
                taken.append(time.perf_counter() - at)

        threads = [Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(taken)

    def memory(self) -> float:
        """Return the megabytes that the process has for itself, or its share of what it shares."""
        return float(psutil.Process(self.process.pid).memory_full_info().pss) / 2**20

    def cpu(self) -> float:
        """Return the seconds of CPU so far."""
        return cpu_seconds([self.process.pid])[self.process.pid]


@contextmanager
def api_service(database: Database) -> Iterator[ApiService]:
    """Run an api process for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        log = Path(folder, "api.log")
        environment = {
            **os.environ,
            "HEADWAY_HOME": folder,
            "HEADWAY_DATABASE_URL": database.urls[Login.API],
            "HEADWAY_DATABASE_READONLY_URL": database.urls[Login.READONLY],
            "HEADWAY_API_PORT": "0",
            "HEADWAY_API_STREAMS_PER_ACCOUNT": "2000",
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                dies_with_parent([sys.executable, "-m", "headway.cli", "api"]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            service = ApiService(process, _port(process, log), _token(database), Path(folder))
            service.get("/auth/me")
            yield service
        finally:
            process.terminate()
            process.wait(30)


def percentile(taken: list[float], share: float) -> float:
    """Return the time, in milliseconds, that so large a share of sorted times does not exceed."""
    return 1e3 * taken[min(round(share * len(taken)), len(taken) - 1)]


def _arrivals(rate: float, seconds: float, chance: Random) -> list[float]:
    found, at = [], chance.expovariate(rate)
    while at < seconds:
        found.append(at)
        at += chance.expovariate(rate)
    return found


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while (found := _LISTENS.search(log.read_text())) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the api does not listen.\n{log.read_text()}")
        time.sleep(0.02)
    port = int(found[1])
    while True:
        with closing(HTTPConnection("127.0.0.1", port)) as connection:
            try:
                connection.request("GET", "/auth/me")
                connection.getresponse().read()
            except OSError:
                time.sleep(0.02)
            else:
                return port


def _token(database: Database) -> str:
    with database.owner.begin() as conn:
        account = Account("bench", AccountRole.ADMIN)
        change.create_account(conn, account, _AUTHOR, password=_PASSWORD)
        return tokens.create_token(conn, TokenRequest("bench", "bench"), _AUTHOR).secret
