from headway.cli.dags import _gist


def test_of_a_traceback_a_table_has_what_it_says_in_the_end() -> None:
    error = (
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in <module>\n'
        "    open(1)\n"
        "ValueError: no\n"
        "Do this instead."
    )

    assert _gist(error) == "ValueError: no Do this instead."


def test_anything_else_is_as_it_is() -> None:
    assert _gist("It ended.\nIt printed:\n  x") == "It ended.\nIt printed:\n  x"
