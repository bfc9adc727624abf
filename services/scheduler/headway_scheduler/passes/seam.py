"""The seam in every pass, just before it commits."""


def nothing() -> None:
    """Stand in for the seam where a test pauses or kills a pass."""
