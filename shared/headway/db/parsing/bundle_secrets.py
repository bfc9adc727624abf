"""How a parser asks for what is granted to the files of a bundle: a function of the database."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, text

from headway.domain.variable import SecretKind
from headway.runtime.secrets.keyring import Sealed

ASK = text("""
    SELECT kind, name, granted, present, changed_at, key_id, sealed
      FROM headway_secrets_of_bundle(CAST(:bundle AS text), CAST(:kinds AS text[]),
                                     CAST(:names AS text[]), CAST(:whole AS boolean))
""")


class SecretName(NamedTuple):
    """A connection or a variable, which need not be there."""

    kind: SecretKind
    name: str


@dataclass(frozen=True, slots=True)
class BundleSecret:
    """What the files of a bundle may know of a name: whether they are granted it, and what it is.

    `changed_at` is when what is `present` was set last.  `sealed` is that, if it was asked for and
    is granted.
    """

    granted: bool
    present: bool
    changed_at: datetime | None
    sealed: Sealed | None = field(repr=False)


def ask(
    conn: Connection, bundle: str, names: Collection[SecretName], *, whole: bool
) -> dict[SecretName, BundleSecret]:
    """Ask for names; only with `whole` for what is stored there as well.

    The connection must have said which parser it is of.  Nothing is returned to one that does not
    have the bundle, or that was declared dead.
    """
    parameters = {
        "bundle": bundle,
        "kinds": [each.kind for each in names],
        "names": [each.name for each in names],
        "whole": whole,
    }
    return {
        SecretName(SecretKind(row.kind), row.name): BundleSecret(
            row.granted,
            row.present,
            row.changed_at,
            None if row.sealed is None else Sealed(row.key_id, bytes(row.sealed)),
        )
        for row in conn.execute(ASK, parameters)
    }
