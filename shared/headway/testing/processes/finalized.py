"""An object whose finalizer calls something: where Python drops errors, as those of signals."""

from collections.abc import Callable


class Finalized:
    """Calls `call` when the last reference to it goes."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call

    def __del__(self) -> None:
        self._call()
