"""Streams of tabs on a page that a test makes, rather than the application."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from headway.domain.accounts import Account, AccountRole
from headway_api.auth.shared_asks import Secret
from headway_api.http.refusals import NotSignedInError
from headway_api.live import differences
from headway_api.live.feeds import Feed, Shown, Update
from headway_api.live.messages import EndReason, EventName
from headway_api.live.page_asks import MadePage, PageName
from headway_api.live.page_streams import PageStream
from headway_api.live.shared_pages import SharedPages
from headway_api.live.streams import StreamHolder
from headway_api.live.topics import Topic, TopicKind

VIEWER = Account("", AccountRole.VIEWER)
PAGE = PageName("/dags/etl", VIEWER, ("http", "localhost", ""))
CELLS = PageName("/dags/etl/cells", VIEWER, ("http", "localhost", ""))


@dataclass(slots=True)
class ToldAsker:
    """Makes a page that says how many makings there were, each when `go` is set."""

    made: int = 0
    fault: Exception | None = None
    refused: set[bytes] = field(default_factory=set)
    asked: list[tuple[bytes, str]] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, page: PageName, secret: Secret, known: str) -> MadePage | None:
        """Make the page, or refuse the secret."""
        self.asked.append((secret.hash, known))
        if secret.hash in self.refused:
            raise NotSignedInError("revoked")
        self.made += 1
        number = self.made
        self.begun.set()
        await self.go.wait()
        if self.fault is not None:
            raise self.fault
        return MadePage(f"tag{number}", f"{page.address} {number}".encode(), in_gzip=False)


def feed(*, looked_at: bool = True) -> Feed:
    """Return a feed of a DAG."""
    made = Feed(Topic(TopicKind.DAG, ("etl",)), None)
    if looked_at:
        made.shown = update(made).shown
    return made


def update(of: Feed) -> Update:
    """Return that the feed has changed somehow."""
    snapshot = {"dag": "1"}
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    size = differences.size(snapshot)
    shown = Shown(of.topic, noon, snapshot, differences.digest(snapshot), size)
    return Update(of, shown, shown.event)


def tab(
    pages: SharedPages,
    asker: ToldAsker,
    its: Feed,
    *,
    secret: bytes = b"hash",
    names: Sequence[PageName] = (PAGE,),
    last_event_id: str | None = None,
) -> PageStream:
    """Open the stream of a tab."""
    holder = StreamHolder(Account("ann", AccountRole.VIEWER), Secret(secret, by_token=True))
    shown = dict(zip((EventName.PAGE, EventName.CELLS), names, strict=False))
    return PageStream(holder, [its], pages, (asker, shown), last_event_id)  # type: ignore[arg-type]


def pages_of(
    at_once: int = 1, ended: Mapping[bytes, EndReason] = MappingProxyType({})
) -> SharedPages:
    """Return pages for streams of which those with these hashes are to end."""

    async def check(holders: Collection[StreamHolder]) -> dict[StreamHolder, EndReason]:
        return {it: ended[it.secret.hash] for it in holders if it.secret.hash in ended}

    return SharedPages(at_once, check)


async def settled() -> None:
    """Let everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


def in_loop(test: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a test on an event loop."""
    asyncio.run(asyncio.wait_for(test(), 30))
