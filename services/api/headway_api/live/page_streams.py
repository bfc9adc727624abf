"""One tab's stream: the page that it shows, and the cells of its grid, whenever they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway_api.live import messages
from headway_api.live.feeds import Feed, Update
from headway_api.live.messages import EventName
from headway_api.live.page_asks import PageAsker, PageName
from headway_api.live.shared_pages import SharedPage, SharedPages
from headway_api.live.streams import ClientStream, StreamHolder


@dataclass(slots=True, eq=False)
class _PageOfTab:
    """A page of a tab: the event that tells of it, and the tags of what it was told and is to be.

    `data` waits to be sent; None if nothing does.
    """

    event: EventName
    page: SharedPage
    told: str
    tag: str
    data: bytes | None = None


class PageStream(ClientStream):
    """What waits to be sent to a tab: of each page the newest at most.

    Pages are made when feeds tell of a change, and when the stream begins, for something may have
    changed since the tab got its page.  A feed that nobody has looked at yet is waited for.
    """

    def __init__(
        self,
        holder: StreamHolder,
        feeds: Sequence[Feed],
        pages: SharedPages,
        shown: tuple[PageAsker, Mapping[EventName, PageName]],
        last_event_id: str | None = None,
    ) -> None:
        super().__init__(holder, feeds)
        asker, names = shown
        known = (last_event_id or "").split(".")
        tags = known if len(known) == len(names) else [""] * len(names)
        self._all = pages
        self._shown: dict[SharedPage, _PageOfTab] = {}
        for (event, name), tag in zip(names.items(), tags, strict=True):
            page = pages.join(self, name, asker)
            self._shown[page] = _PageOfTab(event, page, tag, tag)
        self._want()

    def offer(self, update: Update) -> None:  # noqa: ARG002 - whatever it is, pages tell all
        """Have the pages made anew."""
        self._want()

    def tag_of(self, page: SharedPage) -> str:
        """Return which version of the page the tab has or is being sent; nothing for none."""
        return self._shown[page].tag

    def show(self, page: SharedPage, tag: str, data: bytes) -> None:
        """Have the page sent, instead of an older one that still waits, unless the tab has it."""
        its = self._shown[page]
        if its.tag != tag:
            its.tag, its.data = tag, data
            self._changed.set()

    def left(self) -> None:
        """Have no more pages made for it."""
        for page in self._shown:
            self._all.leave(self, page)

    def _want(self) -> None:
        if all(feed.shown is not None for feed in self.feeds):
            for page in self._shown:
                page.want()

    def _take(self) -> bytes | None:
        for its in self._shown.values():
            if its.data is not None:
                data, its.data, its.told = its.data, None, its.tag
                number = ".".join(each.told for each in self._shown.values())
                return messages.with_id(messages.page(its.event, data), number)
        return None
