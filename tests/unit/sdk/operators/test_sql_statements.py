"""SQL text taken apart."""

import pytest

from headway.sdk.operators.statements import Statement, split


def texts(sql: str) -> list[str]:
    return [statement.text for statement in split(sql)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1;;\n ; SELECT 2 \n", ["SELECT 1", "SELECT 2"]),
        ("", []),
        (" -- nothing; at all\n/* but; this */ ;", []),
        ("SELECT ';'; SELECT 2", ["SELECT ';'", "SELECT 2"]),
        ('SELECT ";"; SELECT 2', ['SELECT ";"', "SELECT 2"]),
        ("SELECT `a;b`; SELECT 2", ["SELECT `a;b`", "SELECT 2"]),
        ("SELECT `a``;b`; SELECT 2", ["SELECT `a``;b`", "SELECT 2"]),
        ("SELECT 'it''s;'; SELECT 2", ["SELECT 'it''s;'", "SELECT 2"]),
        (r"SELECT 'it\'s;'; SELECT 2", [r"SELECT 'it\'s;'", "SELECT 2"]),
        (r"SELECT '\\'; SELECT 2", [r"SELECT '\\'", "SELECT 2"]),
        (r"SELECT r'\'; SELECT 2", [r"SELECT r'\'", "SELECT 2"]),
        (r"SELECT xr'\';'; SELECT 2", [r"SELECT xr'\';'", "SELECT 2"]),
        ("SELECT 1 -- one; two\n; SELECT 2", ["SELECT 1 -- one; two\n", "SELECT 2"]),
        ("SELECT '--'; SELECT 2", ["SELECT '--'", "SELECT 2"]),
        ("SELECT /* ; /* ; */ ; */ 1; SELECT 2", ["SELECT /* ; /* ; */ ; */ 1", "SELECT 2"]),
        ("SELECT '/*'; SELECT '*/'", ["SELECT '/*'", "SELECT '*/'"]),
        ("SELECT /*+ BROADCAST(a) */ 1", ["SELECT /*+ BROADCAST(a) */ 1"]),
        ("SELECT 1 /* open; for ever", ["SELECT 1 /* open; for ever"]),
        ("SELECT 'open; for ever", ["SELECT 'open", "for ever"]),
        ("SELECT 4 - 2 / 2; SELECT 2", ["SELECT 4 - 2 / 2", "SELECT 2"]),
        (
            "SET x = 1; begin DECLARE y INT; SET y = 1; END;\n",
            ["SET x = 1", "begin DECLARE y INT; SET y = 1; END"],
        ),
        ("SELECT 1 AS begin; SELECT 2", ["SELECT 1 AS begin", "SELECT 2"]),
    ],
)
def test_semicolons_part_statements(sql: str, expected: list[str]) -> None:
    assert texts(sql) == expected


def test_a_statement_knows_its_line() -> None:
    sql = "-- the first\nSELECT 1;\n\n/* the\n second */ SELECT\n2"

    assert split(sql) == [Statement("SELECT 1", 2), Statement("SELECT\n2", 5)]


def test_a_long_text_is_no_matter() -> None:
    sql = "SELECT 'a;b', /* c;d */ `e;f` FROM t -- g;h\n;\n" * 5_000

    assert [len(split(sql)), split(sql)[-1].line] == [5_000, 9_999]
