"""Names that look like settings and are none: a typing error would else be a default, unseen."""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

PREFIX: Final = "HEADWAY_"

SECTIONS: Final = (
    "database",
    "roles",
    "api",
    "oidc",
    "parser",
    "scheduler",
    "worker",
    "logs",
    "secrets",
)
"""The sections of all settings."""

_OTHERS: Final = (
    *(f"{PREFIX}{name.upper()}_" for name in SECTIONS),
    "HEADWAY_CONN_",
    "HEADWAY_VAR_",
)
"""Names that begin so are not judged by who reads another section: among these are connections and
variables, which an operator names."""

_SERVICE: Final = re.compile(r"HEADWAY_.*_SERVICE_(?:HOST|PORT(?:_.+)?)")
_PORT: Final = re.compile(r"HEADWAY_.*_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?")
_ADDRESS: Final = re.compile(r"(?:tcp|udp|sctp)://.*")
_DESCRIBED: Final = re.compile(r".*_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)")

_LIKELY: Final = 0.6
_SURELY: Final = 0.85
"""How like a setting the name of another section must be to be taken for it."""


def is_of_kubernetes(name: str, value: str) -> bool:
    """Tell whether Kubernetes has set this variable, for a Service whose name begins so."""
    if _SERVICE.fullmatch(name):
        return True
    if not _PORT.fullmatch(name):
        return False
    return bool(_DESCRIBED.fullmatch(name) or _ADDRESS.fullmatch(value))


def unknown_variables(
    environment: Mapping[str, str], section: str, known: Collection[str]
) -> Iterator[str]:
    """Yield what is wrong with variables that look like settings of a section and are none.

    `known` are the variables of its settings.  A variable of another section is not judged; one
    of no section is, if it is nearly a setting of this one.
    """
    own = f"{PREFIX}{section.upper()}_"
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX) or name in known or is_of_kubernetes(name, value):
            continue
        nearly = not name.startswith(_OTHERS) and get_close_matches(name, known, 1, _SURELY)
        if name.startswith(own) or nearly:
            yield f"{name} is no setting of Headway{_nearest(name, known)}"


def unknown_keys(
    content: Mapping[str, object], known: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield what is wrong with sections and keys of a TOML file; `known` are the keys of each."""
    for section, values in content.items():
        if section not in known:
            yield f"[{section}] is no section of Headway's settings{_nearest(section, known)}"
        elif isinstance(values, Mapping):
            for key in values:
                if key not in known[section]:
                    yield f"{key} in [{section}] is no setting of Headway" + _nearest(
                        key, known[section]
                    )


def _nearest(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence: which known name is most like it, if any is."""
    found = get_close_matches(name, known, 1, _LIKELY)
    meant = f"; did you mean {found[0]}?" if found else "."
    return f"{meant} `headway settings` lists all."
