"""What clients do, each in a thread of its own: trigger, change, and read."""

from collections import deque
from collections.abc import Callable, Iterator, MutableSet
from dataclasses import dataclass, field
from itertools import count
from random import Random
from threading import Event, Thread
from typing import Any, Final

from tests.chaos.clients.client import Client
from tests.chaos.clients.exchange import ASKED, Wish, WishKind

DAG: Final = f"/api/v2/dags/{ASKED}"
LISTS: Final = (
    "/api/v2/dags",
    f"{DAG}/dagRuns?order_by=-id&limit=20",
    "/api/v2/dags/~/dagRuns?state=running",
    "/api/v2/dags/~/dagRuns/~/taskInstances?limit=50",
    "/api/v2/pools",
    "/api/v2/eventLogs?limit=20",
    "/api/v2/dagStats",
    "/api/v2/monitor/health",
    "/headway/v1/processes",
    "/headway/v1/queue?pool=default_pool",
    "/headway/v1/dags/short/grid",
)
FIRST_SLOTS: Final = 100
"""The slots of the pool when it is created; each change is to another number."""

_OVER: Final = frozenset({"success", "failed"})


@dataclass(slots=True)
class Users:
    """Clients at work, from `begin` until `stop`; then each finishes what it is about."""

    make_client: Callable[[], Client]
    seed: int
    touched: MutableSet[tuple[str, str]]
    """DAG and run id of each run that was marked or cleared, or is about to be."""

    broken: list[str] = field(default_factory=list)
    """How threads have ended that were not to end."""

    _stopped: Event = field(default_factory=Event)
    _threads: list[Thread] = field(default_factory=list)
    _fresh: deque[str] = field(default_factory=deque)
    _known: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Create the pool of the runs, and begin."""
        pool = {"name": ASKED, "slots": FIRST_SLOTS}
        wish = Wish(WishKind.POOL, "pool", "POST", "/api/v2/pools", pool, str(FIRST_SLOTS))
        assert self.make_client().insist(wish).exchange.is_done, "the pool was not created"
        for name, work in {
            "trigger": self._trigger,
            "change": self._change,
            "read": self._read,
            "read more": self._read,
        }.items():
            thread = Thread(target=self._run, args=[name, work], name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Have nothing more begun."""
        self._stopped.set()

    @property
    def busy(self) -> bool:
        """Whether anybody is still about something."""
        return any(thread.is_alive() for thread in self._threads)

    def _run(self, name: str, work: Callable[[Client, Random], None]) -> None:
        try:
            work(self.make_client(), Random(f"{self.seed} {name}"))
        except Exception as error:
            self.broken.append(f"the client that is to {name} ended by {error!r}")
            raise

    def _trigger(self, client: Client, chance: Random) -> None:
        """Trigger runs, and look whether each is there at once for the next api."""
        for number in self._numbers(client, chance, 1.4):
            key = f"trigger-{number}"
            body = {"conf": {"key": key}, "note": key}
            wish = Wish(WishKind.TRIGGER, key, "POST", f"{DAG}/dagRuns", body, key)
            answer = client.insist(wish)
            if answer.exchange.is_done:
                run_id = answer.exchange.said
                client.ask(_read(f"{DAG}/dagRuns/{run_id}", key))
                self._fresh.append(run_id)

    def _change(self, client: Client, chance: Random) -> None:
        doings: list[Callable[[Client, int], None]] = [
            self._mark, self._clear, self._pause, self._set_pool, self._rehearse
        ]  # fmt: skip
        for number in self._numbers(client, chance, 1.0):
            doings[number % len(doings)](client, number)

    def _read(self, client: Client, chance: Random) -> None:
        for number in self._numbers(client, chance, 0.5):
            client.ask(_read(chance.choice(LISTS), f"read-{number}"))

    def _mark(self, client: Client, number: int) -> None:
        """Mark a run as failed that nobody has changed before."""
        if not self._fresh:
            return
        run_id, key = self._fresh.popleft(), f"mark-{number}"
        self._known.append(run_id)
        self.touched.add((ASKED, run_id))
        body = {"state": "failed", "note": key}
        client.insist(Wish(WishKind.MARK, key, "PATCH", f"{DAG}/dagRuns/{run_id}", body, key))

    def _clear(self, client: Client, number: int) -> None:
        """Clear a run that has ended, and that was marked before."""
        if not self._known:
            return
        run_id, key = self._known[number % len(self._known)], f"clear-{number}"
        found = client.ask(_read(f"{DAG}/dagRuns/{run_id}", key))
        if found.exchange.is_done and found.body["state"] in _OVER:
            body = {"dry_run": False, "note": key}
            path = f"{DAG}/dagRuns/{run_id}/clear"
            client.insist(Wish(WishKind.CLEAR, key, "POST", path, body, key))

    def _pause(self, client: Client, number: int) -> None:
        """Pause the DAG, and unpause it a moment later."""
        for kind in (WishKind.PAUSE, WishKind.UNPAUSE):
            body = {"is_paused": kind is WishKind.PAUSE}
            client.insist(Wish(kind, f"{kind}-{number}", "PATCH", DAG, body))
            client.clock.wait(self._stopped, 1.0)

    def _set_pool(self, client: Client, number: int) -> None:
        slots = FIRST_SLOTS + 1 + number
        path = f"/api/v2/pools/{ASKED}"
        body = {"slots": slots}
        client.insist(Wish(WishKind.POOL, f"pool-{number}", "PATCH", path, body, str(slots)))

    def _rehearse(self, client: Client, number: int) -> None:
        """Rehearse to trigger a run: nothing may be left of that."""
        key = f"rehearse-{number}"
        body: dict[str, Any] = {"conf": {"key": key}, "note": key}
        path = f"{DAG}/dagRuns?dry_run=true"
        client.ask(Wish(WishKind.REHEARSE, key, "POST", path, body, key))

    def _numbers(self, client: Client, chance: Random, rest: float) -> Iterator[int]:
        """Yield numbers until it is time to stop, and rest about so many seconds after each."""
        for number in count():
            if self._stopped.is_set():
                return
            yield number
            client.clock.wait(self._stopped, chance.uniform(rest / 2, rest * 3 / 2))


def _read(path: str, key: str) -> Wish:
    return Wish(WishKind.READ, key, "GET", path)
