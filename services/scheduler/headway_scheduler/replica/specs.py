"""The DAGs that a scheduler works with, decoded once for each version."""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from headway.db.core import stored_versions
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import SerializationError, TimetableError
from headway.serialization import codec

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Specs:
    """A cache of DAG versions.  They never change, so nothing in it can be out of date."""

    capacity: int = 25_000
    unreadable: set[int] = field(default_factory=set)
    _known: OrderedDict[int, DagGraph] = field(default_factory=OrderedDict)

    def get(self, conn: Connection, version_ids: Iterable[int]) -> dict[int, DagGraph]:
        """Return the DAGs of these versions, fetching in one statement those not known yet.

        One that cannot be read, because another release wrote it, is left out and becomes
        one of the `unreadable`: it must not stop the others, and is another scheduler's.
        """
        wanted = set(version_ids)
        missing = [key for key in wanted if key not in self._known and key not in self.unreadable]
        if missing:
            self._decode(stored_versions.load(conn, missing))
        found = {key: self._known[key] for key in wanted if key in self._known}
        for version_id in found:
            self._known.move_to_end(version_id)
        while len(self._known) > self.capacity:
            self._known.popitem(last=False)
        return found

    def _decode(self, loaded: Mapping[int, bytes]) -> None:
        for version_id, data in loaded.items():
            try:
                graph = DagGraph(codec.decode(data))
                graph.timetable  # noqa: B018 - to be able to read it is a condition
            except (SerializationError, TimetableError):
                self.unreadable.add(version_id)
                log.exception("action=unreadable version=%d", version_id)
            else:
                self._known[version_id] = graph
