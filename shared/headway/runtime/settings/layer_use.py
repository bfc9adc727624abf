"""When DAG files that import `airflow` get Headway's names."""

from enum import StrEnum


class LayerUse(StrEnum):
    """Unless a real Airflow is installed, always, or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


LAYER_USE = (
    "Whether DAG files that import airflow get Headway's names: `auto` (unless a real Airflow is "
    "installed), `always`, or `never`. Parsers and workers need the same."
)
"""The setting, as it is described."""
