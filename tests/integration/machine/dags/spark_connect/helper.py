"""What UDFs of the bundle use; a test edits it while a run goes on."""

VERSION = 1


def stamped(number: int) -> int:
    return number * 10 + VERSION
