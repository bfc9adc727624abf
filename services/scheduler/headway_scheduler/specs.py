"""The DAGs that a scheduler works with, decoded once for each version."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from headway.db import versions
from headway.domain.spec import DagSpec
from headway.serialization import codec


@dataclass(slots=True)
class Specs:
    """A cache of DAG versions.  They never change, so nothing in it can be out of date."""

    capacity: int = 5000
    _known: OrderedDict[int, DagSpec] = field(default_factory=OrderedDict)

    def get(self, conn: Connection, version_ids: Iterable[int]) -> dict[int, DagSpec]:
        """Return the DAGs of these versions, fetching in one statement those not known yet."""
        wanted = set(version_ids)
        missing = [version_id for version_id in wanted if version_id not in self._known]
        if missing:
            loaded = versions.load(conn, missing)
            self._known.update((key, codec.decode(data)) for key, data in loaded.items())
        for version_id in wanted:
            self._known.move_to_end(version_id)
        found = {version_id: self._known[version_id] for version_id in wanted}
        while len(self._known) > self.capacity:
            self._known.popitem(last=False)
        return found
