"""What hooks tell of the data that they read and write: Headway keeps no lineage."""

from types import MappingProxyType
from typing import Final


class NoLineage:
    """A collector that keeps nothing; whoever asks it for something gets nothing."""

    _extra: Final = MappingProxyType[str, object]({})

    def create_asset(self, *_: object, **__: object) -> None:
        """Return nothing."""

    def add_input_asset(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    def add_output_asset(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    def add_extra(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    @property
    def collected_assets(self) -> None:
        """Nothing."""


def get_hook_lineage_collector() -> NoLineage:
    """Return what hooks tell of data."""
    return NoLineage()
