"""The seam in every transaction that decides something, just before it commits."""


def nothing() -> None:
    """Stand in for the seam where a test pauses or kills a service."""
