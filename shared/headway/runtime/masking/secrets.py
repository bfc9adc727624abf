"""The secrets of a masker and of its siblings, with the indexes of their forms."""

import logging
from collections.abc import Iterable
from threading import Lock
from typing import Final

from headway.runtime.masking.forms import SHORTEST_SECRET, derived, lines, raw
from headway.runtime.masking.index import Index

log = logging.getLogger(__name__)

MOST_DERIVED: Final = 32_768
"""Derived forms that are masked; of secrets after those only the plain form is."""

MOST_DERIVED_BYTES: Final = 24 * 2**20

_GROWTH: Final = 4
"""How many times larger each index is at least than the next: so few are searched."""


class Secrets:
    """Every form of every secret.  Any thread may look and add.

    Indexes are replaced as a whole.  `prepare` makes them in the thread that calls it; what was
    only added is indexed by the next one that looks.
    """

    def __init__(self) -> None:
        self._indexes: tuple[Index, ...] = ()
        self._known: dict[bytes, None] = {}
        self._waiting: list[str] = []
        self._derived = self._derived_bytes = 0
        self._indexing = Lock()
        self._warned = False

    @property
    def indexes(self) -> tuple[Index, ...]:
        """The indexes of all forms, the largest first."""
        if self._waiting and self._indexing.acquire(blocking=False):
            try:
                self._index()
            finally:
                self._indexing.release()
        return self._indexes

    @property
    def values(self) -> list[str]:
        """What was added, as it is, with the lines of secrets."""
        with self._indexing:
            known = list(self._known)
        waiting = [line for secret in list(self._waiting) for line in (secret, *lines(secret))]
        return [value.decode("utf-8", "surrogatepass") for value in known] + waiting

    def add(self, secrets: Iterable[str]) -> None:
        """Take secrets; those that are too short are only warned of, and that once."""
        for secret in secrets:
            if len(secret) < SHORTEST_SECRET:
                self._warn_of_short_ones(len(secret))
            else:
                self._waiting.append(secret)

    def prepare(self, secrets: Iterable[str]) -> None:
        """Take secrets and index them now, without holding up any thread that looks."""
        with self._indexing:
            self.add(secrets)
            self._index()

    def _index(self) -> None:
        waiting, count = self._waiting, len(self._waiting)
        secrets = waiting[:count]
        forms = self._forms([*secrets, *(line for secret in secrets for line in lines(secret))])
        if forms:
            indexes = list(self._indexes)
            while indexes and len(indexes[-1]) < _GROWTH * len(forms):
                forms |= indexes.pop().forms
            self._indexes = (*indexes, Index(forms))
        del waiting[:count]

    def _forms(self, values: Iterable[str]) -> set[bytes]:
        """Return the forms of values that are not known yet; derived ones as far as they may be."""
        forms: set[bytes] = set()
        for value in values:
            plain = raw(value)
            if plain in self._known:
                continue
            self._known[plain] = None
            forms.add(plain)
            if self._derived < MOST_DERIVED and self._derived_bytes < MOST_DERIVED_BYTES:
                others = derived(value)
                self._derived += len(others)
                self._derived_bytes += sum(map(len, others))
                forms |= others
        return forms

    def _warn_of_short_ones(self, characters: int) -> None:
        warned, self._warned = self._warned, True
        if not warned:
            log.warning(
                "action=not_masked reason=A secret of %d characters is too short to be masked; "
                "choose one of %d or more.",
                characters,
                SHORTEST_SECRET,
            )
