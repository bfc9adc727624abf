"""The secrets of a masker and of its siblings, with the indexes of their forms."""

import logging
from collections.abc import Iterable
from threading import Lock
from typing import Final

from headway.runtime.masking.forms import SHORTEST_SECRET, derived, lines, raw
from headway.runtime.masking.index import Index

log = logging.getLogger(__name__)

MOST_DERIVED: Final = 32_768
"""Derived forms of one secret that are masked; of the lines after those only the plain form is."""

MOST_DERIVED_BYTES: Final = 24 * 2**20
"""Bytes of one secret's derived forms after which the same holds."""

_GROWTH: Final = 4
"""How many times larger each index is at least than the next: so few are searched."""


class Secrets:
    """Every form of every secret.  Any thread may look at `indexes` and call `prepare`.

    The bound on derived forms is each secret's own: a large secret takes nothing from others.
    """

    def __init__(self) -> None:
        self.indexes: tuple[Index, ...] = ()
        """The indexes of all forms, the largest first; replaced as a whole."""
        self._values: dict[str, None] = {}
        self._plain: set[bytes] = set()
        self._derived: set[bytes] = set()  # plain forms whose derived forms are masked as well
        self._preparing = Lock()
        self._warned = False

    @property
    def values(self) -> list[str]:
        """The secrets as they were given."""
        with self._preparing:
            return list(self._values)

    def prepare(self, secrets: Iterable[str]) -> None:
        """Take secrets and index them, without holding up any thread that looks.

        Those that are too short are only warned of, and that once.
        """
        with self._preparing:
            forms: set[bytes] = set()
            for secret in secrets:
                if len(secret) < SHORTEST_SECRET:
                    self._warn_of_short_ones(len(secret))
                elif secret not in self._values:
                    self._values[secret] = None
                    forms |= self._new_forms(secret)
            if forms:
                self._index(forms)

    def _index(self, forms: set[bytes]) -> None:
        indexes = list(self.indexes)
        while indexes and len(indexes[-1]) < _GROWTH * len(forms):
            forms |= indexes.pop().forms
        self.indexes = (*indexes, Index(forms))

    def _new_forms(self, secret: str) -> set[bytes]:
        """Return the forms of a secret and its lines that are not known yet.

        Derived ones are those of the whole secret and, up to the bounds, of its lines.
        """
        forms: set[bytes] = set()
        count = size = 0
        for value in (secret, *lines(secret)):
            plain = raw(value)
            if plain not in self._plain:
                self._plain.add(plain)
                forms.add(plain)
            if plain not in self._derived and count < MOST_DERIVED and size < MOST_DERIVED_BYTES:
                self._derived.add(plain)
                others = derived(value)
                count += len(others)
                size += sum(map(len, others))
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
