"""What stands for an argument that was not given."""

from typing import Final


class ArgNotSet:
    """The type of NOTSET."""

    def __bool__(self) -> bool:
        return False


NOTSET: Final = ArgNotSet()
