"""How long files wait to be parsed, as metrics."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.db.parsing.files import FileKey
from headway.metrics.parser import LOOK_AGE, QUEUE, QUEUE_AGE
from headway.runtime.daemon.clock import Clock


@dataclass(slots=True)
class ParseBacklog:
    """Since when each file waits that was found and not begun with; any thread may ask."""

    clock: Clock
    _since: dict[FileKey, float] = field(default_factory=dict)
    _found_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._found_at = self.clock.monotonic()

    def show(self) -> None:
        """Have the metrics tell of this backlog."""
        QUEUE.read_by(lambda: len(self._since))
        QUEUE_AGE.read_by(self.age)
        LOOK_AGE.read_by(lambda: self.clock.monotonic() - self._found_at)

    def find(self, waiting: Iterable[FileKey]) -> None:
        """Take note of all that waits after a look; what waited before it goes on waiting."""
        self._found_at = now = self.clock.monotonic()
        self._since = {key: self._since.get(key, now) for key in waiting}

    def begin(self, key: FileKey) -> None:
        """Take note that a file is being parsed."""
        self._since.pop(key, None)

    def age(self) -> float:
        """Return for how long the first of them has waited; 0 if there is none."""
        since = min(list(self._since.values()), default=None)
        return 0.0 if since is None else self.clock.monotonic() - since
