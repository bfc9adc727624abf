"""How the tables of names are written."""

from collections.abc import Mapping
from typing import Final

SDK: Final = "headway.sdk"
LAYER: Final = "headway.airflow_layer"
OPERATORS: Final = f"{LAYER}.tolerance.operators"
DAGS: Final = f"{LAYER}.tolerance.dags"
DATABASE: Final = f"{LAYER}.tolerance.metadata_database"
DECORATORS: Final = f"{LAYER}.tolerance.decorators"


def of(home: str, names: str) -> dict[str, str]:
    """Return the counterparts of names; `Old=New` where it has another name at home."""
    pairs = (name.partition("=") for name in names.split())
    return {name: f"{home}:{other or name}" for name, _, other in pairs}


def modules(names: str, counterparts: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Return the rows of modules that have the same names."""
    return dict.fromkeys(names.split(), counterparts)


def moved(folder: str, table: str) -> dict[str, dict[str, str]]:
    """Return the rows of old modules: each with a colon and the module of a provider package.

    The lines below it have the names, `Old=New` where that module has another one.
    """
    found: dict[str, dict[str, str]] = {}
    for line in table.strip().splitlines():
        old, colon, new = line.partition(":")
        if colon:
            names = found.setdefault(f"{folder}.{old.strip()}", {})
            home = f"airflow.providers.{new.strip()}"
        else:
            names.update(of(home, line))
    return found


HOOKS: Final = of(f"{LAYER}.counterparts.hooks", "BaseHook=LayerHook")
VARIABLES: Final = of(f"{LAYER}.counterparts.hooks", "Variable=LayerVariable")
CONNECTIONS: Final = of(f"{LAYER}.counterparts.connections", "Connection=LayerConnection")
"""Of what tasks ask for."""

RETURN_KEY: Final = of("headway.domain.arguments", "XCOM_RETURN_KEY=RETURN_VALUE")
SKIPS: Final = of(SDK, "SkipMixin")
