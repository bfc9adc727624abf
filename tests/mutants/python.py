"""Changes of Python source: comparisons, conditions, numbers, calls, returns; and its SQL."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.mutants import sql
from tests.mutants.change import Change

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
_CALLS: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}
_TOLD: Final = frozenset({"log", "warnings"})
"""What is told to people changes nothing that is decided."""


class Source:
    """A Python file, and all that can be changed in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._bytes = text.encode()

    def changes(self) -> list[Change]:
        """Return every change, each once, in the order of the file."""
        found = set(self._of(ast.parse(self.text)))
        return sorted(change for change in found if change.apply(self.text) != self.text)

    def _of(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Raise):
            return
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield from self._of_literal(node)
            return
        yield from self._of_node(node)
        for child in _children(node):
            yield from self._of(child)

    def _of_node(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.stmt):
            yield from self._of_statement(node)
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield self._between(left, right, f" {_COMPARISONS[type(op)]} ")
            case ast.BoolOp(op=op, values=values):
                word = " or " if isinstance(op, ast.And) else " and "
                yield from (self._between(one, other, word) for one, other in pairwise(values))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                yield self._between(left, right, f" {_OPERATORS[type(op)]} ")
            case ast.UnaryOp(op=ast.Not()):
                start = self._start(node)
                yield Change(start, start + len("not"), "")
            case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
                start = self._start(node)
                yield Change(start, start + len(name), _CALLS[name])

    def _of_statement(self, node: ast.stmt) -> Iterator[Change]:
        match node:
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._instead(value, "None")
            case ast.Expr(value=ast.Call() as call) if not _is_told(call):
                yield self._instead(node, "pass")
            case ast.Continue() | ast.Break():
                yield self._instead(node, "pass")
            case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
                yield self._instead(test, f"not {self._segment(test)}")

    def _of_literal(self, node: ast.Constant | ast.JoinedStr) -> Iterator[Change]:
        start, segment = self._start(node), self._segment(node)
        if isinstance(node, ast.JoinedStr) or isinstance(node.value, str):
            if sql.is_sql(segment):
                yield from sql.changes(segment, start)
        elif isinstance(node.value, bool):
            yield self._instead(node, str(not node.value))
        elif isinstance(node.value, int | float):
            yield self._instead(node, f"{node.value + 1!r}")

    def _between(self, left: ast.expr, right: ast.expr, new: str) -> Change:
        """Return the change of the operator alone, not of parentheses around it."""
        start, end = self._end(left), self._start(right)
        between = self.text[start:end]
        closing, opening = between.rfind(")") + 1, between.find("(")
        return Change(start + closing, end if opening < 0 else start + opening, new)

    def _instead(self, node: ast.expr | ast.stmt, new: str) -> Change:
        return Change(self._start(node), self._end(node), new)

    def _segment(self, node: ast.expr) -> str:
        return self.text[self._start(node) : self._end(node)]

    def _start(self, node: ast.AST) -> int:
        return self._place(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _place(self, line: int, column: int) -> int:
        """Return a character of the text; Python counts columns in bytes."""
        return len(self._bytes[: self._starts[line - 1] + column].decode())


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may be changed below a node: no types, decorators, docstrings, log lines."""
    left_out = {"annotation", "returns", "decorator_list", "bases", "keywords", "type_comment"}
    if isinstance(node, ast.Call):
        if _is_told(node):
            return
        left_out = set()
    for name, value in ast.iter_fields(node):
        if name in left_out or (isinstance(node, ast.AnnAssign) and name == "target"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_type(child):
                yield child


def _is_told(call: ast.Call) -> bool:
    func = call.func
    return isinstance(func, ast.Attribute) and (
        isinstance(func.value, ast.Name) and func.value.id in _TOLD
    )


def _is_type(node: ast.AST) -> bool:
    """Whether a statement only names a type, or is for type checkers alone."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
    return isinstance(node, ast.Assert)
