"""What the author of a DAG file is told."""

from headway.airflow_layer import notes


def test_each_thing_is_told_once_until_another_file_is_read() -> None:
    notes.note("a", "first")
    notes.note("b", "other")
    notes.note("a", "second")

    assert notes.notes() == ["first", "other"]
    notes.forget()
    assert notes.notes() == []
