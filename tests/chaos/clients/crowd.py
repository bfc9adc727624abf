"""All clients of the API while there is chaos: those that ask, and those that watch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.clients import answers
from tests.chaos.clients.answers import Asked
from tests.chaos.clients.client import Client
from tests.chaos.clients.exchange import ExchangeFile, read_exchanges
from tests.chaos.clients.stored import read_stored
from tests.chaos.clients.users import Users
from tests.chaos.clients.watchers import TOPICS, Watcher
from tests.chaos.fault_series import Span
from tests.chaos.scene import Scene

from headway.actions.accounts import change, tokens
from headway.actions.accounts.tokens import TokenRequest
from headway.actions.change import Author
from headway.domain.accounts import Account, AccountRole
from headway.runtime.daemon.clock import Clock

PERSON: Final = "robin"
ACTOR: Final = f"token:{PERSON}/chaos"
"""Whom the journal names as the author of what the clients change."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The clients of one play."""

    scene: Scene
    path: Path
    users: Users
    watchers: Sequence[Watcher]

    @classmethod
    def of(cls, scene: Scene, seed: int, clock: Clock) -> "Crowd":
        """Return the clients of this scene, who have one token, before they begin."""
        path, token = scene.root / "requests.jsonl", _token(scene)
        file, ports = ExchangeFile(path), scene.api_ports

        def make_client(turn: int = 0) -> Client:
            return Client(ports, token, file, clock, turn)

        watchers = [Watcher(make_client(number), topics) for number, topics in enumerate(TOPICS)]
        return cls(scene, path, Users(make_client, seed, scene.touched), watchers)

    def begin(self) -> None:
        """Have all begin."""
        self.users.begin()
        for watcher in self.watchers:
            watcher.begin()

    def finish(self, until: Callable[[Callable[[], bool]], bool]) -> None:
        """Have those that ask finish; `until` waits for a while until something is seen."""
        self.users.stop()
        if not until(lambda: not self.users.busy):
            self.users.broken.append("clients have not finished")

    def leave(self, until: Callable[[Callable[[], bool]], bool]) -> list[str]:
        """Have those that watch see the end; return what they see otherwise than it is."""
        stored = read_stored(self.scene.engine, ACTOR)

        def unlike() -> list[str]:
            return [
                each for watcher in self.watchers for each in answers.unlike(watcher.state, stored)
            ]

        until(lambda: not unlike())
        for watcher in self.watchers:
            watcher.stop()
        return unlike()

    def asked(self, faults: Sequence[Span]) -> Asked:
        """Return all that was sent, in the order of its ends."""
        with self.path.open() as file:
            return Asked(read_exchanges(file), faults)

    def violations(self, asked: Asked) -> list[str]:
        """Return what must not be of what was answered."""
        broken = [each for watcher in self.watchers for each in watcher.broken]
        stored = read_stored(self.scene.engine, ACTOR)
        return [*self.users.broken, *broken, *answers.violations(asked, stored)]


def _token(scene: Scene) -> str:
    author = Author("user:chaos")
    with scene.engine.begin() as conn:
        person = Account(PERSON, AccountRole.ADMIN, None)
        change.create_account(conn, person, author, password="not used, and long enough")
        return tokens.create_token(conn, TokenRequest(PERSON, "chaos"), author).secret
