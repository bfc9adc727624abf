"""What counts as a row that a plan looks at."""

from headway.testing.database.query_plans import Node, QueryPlan


def node(kind: str, rows: int, *below: Node) -> Node:
    return {"Node Type": kind, "Actual Rows": rows, "Actual Loops": 1, "Plans": list(below)}


def test_a_row_that_a_filter_removes_was_looked_at() -> None:
    scan = {**node("Seq Scan", 2), "Rows Removed by Filter": 40}

    assert QueryPlan("a", scan).rows == 42


def test_entries_of_dead_rows_in_a_bitmap_do_not_count() -> None:
    bitmap = node("Bitmap Index Scan", 6221)

    assert QueryPlan("a", node("Bitmap Heap Scan", 3, bitmap)).rows == 3


def test_bitmaps_that_are_combined_count_in_full() -> None:
    both = node("BitmapAnd", 0, node("Bitmap Index Scan", 500), node("Bitmap Index Scan", 700))

    assert QueryPlan("a", node("Bitmap Heap Scan", 3, both)).rows == 1203
