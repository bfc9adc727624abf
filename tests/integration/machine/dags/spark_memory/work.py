"""Work that is too much for a Java virtual machine, the first time that it is done."""

from pathlib import Path
from typing import Any

HEAP = "heap"
"""For a machine that is to run out of its own heap; any other one is killed from outside."""


def too_much_at_first(spark: Any, folder: str, how: str) -> int:
    """Have the machine end in the first attempt; return 3 in any later one."""
    begun = Path(folder) / "begun"
    if begun.exists():
        return int(spark.range(3).count())
    begun.touch()
    if how == HEAP:
        spark.range(1).selectExpr("repeat('x', int(2000000000 + id)) AS text").collect()
    spark.range(10**15).selectExpr("sum(id % 7)").collect()
    raise AssertionError("The machine is still there.")
