"""Pages that streams show: each is made once after a change, for all who see just the same."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from headway_api.auth.shared_asks import Secret
from headway_api.http.refusals import NotSignedInError
from headway_api.live import messages
from headway_api.live.page_asks import MadePage, PageAsker, PageFailedError, PageName

if TYPE_CHECKING:
    from headway_api.live.messages import EndReason
    from headway_api.live.page_streams import PageStream
    from headway_api.live.streams import StreamHolder

log = logging.getLogger(__name__)

REST: Final = 0.25
"""Seconds between two makings of a page at least, so that a storm of changes costs little."""

SHARE: Final = 4.0
"""So many times as long as the making took: an API that is busy makes pages less often."""


LONGEST_REST: Final = 30.0
"""Seconds after which a page that fails is made again at the latest; the first time it is 1."""


Check: TypeAlias = (
    "Callable[[Collection[StreamHolder]], Awaitable[Mapping[StreamHolder, EndReason]]]"
)
"""Returns why streams of these holders are to end now, without those that go on."""


class SharedPage:
    """A page, the streams that show it, and whether it is to be made.

    No more is kept of it: what was made is gone when it has been sent.  A making that has begun
    goes on when all streams have left: its thread, and the connection of that, would go on anyway.
    `forget` is called when nobody shows the page, and its rest is over.
    """

    def __init__(
        self,
        name: PageName,
        asker: PageAsker,
        room: asyncio.Semaphore,
        check: Check,
        forget: Callable[["SharedPage"], None],
    ) -> None:
        self.name, self._asker, self._room = name, asker, room
        self._check, self._forget = check, forget
        self.streams: dict[PageStream, None] = {}  # in the order of their begin
        self._wanted = False
        self._failed_rest = 0.0  # the rest after the last making, if that has failed
        self._task: asyncio.Task[None] | None = None

    def want(self) -> None:
        """Have the page made, by a making that begins from now on."""
        self._wanted = True
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self, stream: "PageStream") -> None:
        """Show the page by that stream no more."""
        self.streams.pop(stream, None)
        self._forget_if_idle()

    async def _run(self) -> None:
        """Make the page until it is not wanted any more, with rests between."""
        loop = asyncio.get_running_loop()
        while self._wanted and self.streams:
            async with self._room:
                self._wanted = False
                began = loop.time()
                streams = list(self.streams)  # one that joins later wants what is made later
                await self._make(streams)
            await asyncio.sleep(max(self._failed_rest or REST, SHARE * (loop.time() - began)))
        self._task = None
        self._forget_if_idle()

    def _forget_if_idle(self) -> None:
        if not self.streams and self._task is None:
            self._forget(self)

    async def _make(self, streams: Sequence["PageStream"]) -> None:
        """Make and show the page; one that fails is wanted still, for its change is shown once."""
        try:
            made = await self._made(streams)
            if made is not None:
                await self._show(streams, made)
            self._failed_rest = 0.0
        except Exception as error:
            self._wanted = True
            if not self._failed_rest:  # one line for each time that it begins to fail
                is_known = isinstance(error, PageFailedError)
                log.warning(
                    "action=make_page page=%s error=%r: it is made again",
                    *(self.name.address, str(error)),
                    exc_info=None if is_known else error,
                )
            self._failed_rest = min(2 * self._failed_rest or 1.0, LONGEST_REST)

    async def _made(self, streams: Sequence["PageStream"]) -> MadePage | None:
        """Return the page; None if all these streams have it, or there is no such page.

        If one of them has just lost its rights, another one asks.
        """
        tags = {stream.tag_of(self) for stream in streams}
        known = tags.pop() if len(tags) == 1 else ""
        secrets: dict[Secret, None] = dict.fromkeys(it.holder.secret for it in streams)
        for secret in secrets:
            try:
                return await self._asker.ask(self.name, secret, known)
            except NotSignedInError:
                continue
        return None

    async def _show(self, streams: Sequence["PageStream"], made: MadePage) -> None:
        """Show the page by those streams whose holders may still see it, and end the others."""
        ended = await self._check({stream.holder for stream in streams})
        data = messages.page_data(made.body, in_gzip=made.in_gzip)
        for stream in streams:
            if stream.holder in ended:
                stream.end(ended[stream.holder])
            elif stream in self.streams:
                stream.show(self, made.tag, data)


class SharedPages:
    """All pages that streams of a process show.  It belongs to the event loop."""

    def __init__(self, at_once: int, check: Check) -> None:
        self._pages: dict[PageName, SharedPage] = {}
        self._room, self._check = asyncio.Semaphore(at_once), check

    def join(self, stream: "PageStream", name: PageName, asker: PageAsker) -> SharedPage:
        """Have a stream show a page."""
        page = self._pages.get(name)
        if page is None:
            page = self._pages[name] = SharedPage(
                name, asker, self._room, self._check, self._forget
            )
        page.streams[stream] = None
        return page

    def leave(self, stream: "PageStream", page: SharedPage) -> None:
        """Forget that a stream shows a page; and the page, if no other one does."""
        page.leave(stream)

    def _forget(self, page: SharedPage) -> None:
        self._pages.pop(page.name, None)
