"""A connection or a variable as something that the parse of a file depends on, as on its files."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from headway.db.parsing.bundle_secrets import SecretName
from headway.domain.variable import SecretKind

SecretStates: TypeAlias = Callable[[str, Collection[SecretName]], Mapping[SecretName, str]]
"""What tells the states of connections and variables, as files of that bundle would find them."""

NOT_ALLOWED: Final = "not allowed"
"""The state of all of them where the settings of the bundle allow none."""


def allow_none(_bundle: str, names: Collection[SecretName]) -> Mapping[SecretName, str]:
    """Return the states where nothing is allowed."""
    return dict.fromkeys(names, NOT_ALLOWED)


def dependency_of(name: SecretName) -> str:
    """Return what stands for it among the paths of files: these never begin with a slash."""
    return f"/{name.kind}/{name.name}"


def secret_of(dependency: str) -> SecretName | None:
    """Return the connection or variable that a dependency stands for; None for a file's path."""
    if not dependency.startswith("/"):
        return None
    kind, _, name = dependency[1:].partition("/")
    return SecretName(SecretKind(kind), name)
