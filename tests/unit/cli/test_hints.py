"""Every command that a message names exists, and has the options that it is named with."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headway.cli.main import app

ROOT = Path(__file__).parents[3]
COMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )?headway ([^`]+)`")
PLACEHOLDER = "X"


def text_of(node: ast.AST) -> str:
    """The text of a string, with a placeholder for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) for value in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return PLACEHOLDER


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a module: an f-string as one."""
    if isinstance(tree, ast.JoinedStr | ast.Constant):
        yield text_of(tree)
        return
    for child in ast.iter_child_nodes(tree):
        yield from texts(child)


def named() -> Iterator[tuple[str, str]]:
    for file in sorted([*ROOT.glob("shared/**/*.py"), *ROOT.glob("services/**/*.py")]):
        for text in texts(ast.parse(file.read_text())):
            for found in COMMAND.findall(" ".join(text.split())):
                yield file.name, found


def wrong_with(words: list[str]) -> str | None:
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0] == PLACEHOLDER or words[0].startswith(PLACEHOLDER):
            return None
        if words[0] not in command.commands:
            return f"there is no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    options = {
        name: parameter
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    given = [word for word in words if word.startswith("-")]
    unknown = [word for word in given if word not in options]
    return f"it has no {unknown}" if unknown else None


def test_each_command_that_is_named_exists() -> None:
    found = set(named())
    wrong = {
        (file, alternative): told
        for file, command in found
        for alternative in command.split(" | ")
        if (told := wrong_with(shlex.split(alternative)))
    }

    assert len(found) > 50
    assert wrong == {}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("dags lst", "there is no command 'lst'"),
        ("runs clear X --versoin 3", "it has no ['--versoin']"),
    ],
)
def test_a_wrong_one_would_be_found(command: str, why: str) -> None:
    assert wrong_with(command.split()) == why
