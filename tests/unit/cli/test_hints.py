"""Every command that a message or a hint names exists, with the options that it is named with."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from headway.cli.main import app
from headway.cli.screen.hints import COMMANDS, OPTIONS
from headway.domain.hints import Action

ROOT = Path(__file__).parents[3]
COMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )?headway ([^`]+)`")
PLACEHOLDER = "X"
OF_THE_API = {"cursor"}
"""Parameters that no command has."""

NAMES = re.compile(r"\{(\w+)\}")
OPTIONAL = re.compile(r"\[[^\]]*\]")
ANSWERED = tuple(
    ROOT / "shared" / "headway" / folder
    for folder in ("actions", "db", "decide/changes", "domain", "runtime/secrets")
)
"""Whose errors other programs read, too."""


@cache
def trees() -> dict[Path, ast.Module]:
    files = sorted([*ROOT.glob("shared/**/*.py"), *ROOT.glob("services/**/*.py")])
    return {file: ast.parse(file.read_text()) for file in files}


def text_of(node: ast.AST) -> str:
    """The text of a string, with a placeholder for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) for value in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return PLACEHOLDER


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a module: an f-string as one."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.JoinedStr | ast.Constant):
            yield text_of(node)
        else:
            left += ast.iter_child_nodes(node)


def named() -> Iterator[tuple[str, str]]:
    for file, tree in trees().items():
        for text in texts(tree):
            for found in COMMAND.findall(" ".join(text.split())):
                yield file.name, found


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of such a name in production code."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and re.fullmatch(name, ast.unparse(node.func)):
                yield file, node


def options_of(command: Any) -> set[str]:
    """The options of a command and of all below it."""
    own = {name for it in command.params for name in (*it.opts, *it.secondary_opts)}
    return own.union(*(options_of(it) for it in getattr(command, "commands", {}).values()))


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

    assert len(found) > 40
    assert wrong == {}


def test_each_action_has_a_command_that_exists() -> None:
    plain = {
        action: NAMES.sub(PLACEHOLDER, template.replace("[", "").replace("]", ""))
        for action, template in COMMANDS.items()
    }

    assert set(COMMANDS) == set(Action)
    assert {it: told for it in plain if (told := wrong_with(shlex.split(plain[it])))} == {}


def test_each_action_is_named_with_the_arguments_of_its_command() -> None:
    found = [(file, node) for file, node in calls("act") if node.args]
    named = [
        (f"{file.name}:{node.lineno}", ast.unparse(node.args[0]).removeprefix("Action."), node)
        for file, node in found
        if ast.unparse(node.args[0]).startswith("Action.")
    ]
    wrong = []
    for where, action, node in named:
        template = COMMANDS[Action[action]]
        given = {keyword.arg for keyword in node.keywords}
        needed = set(NAMES.findall(OPTIONAL.sub("", template)))
        if not needed <= given <= set(NAMES.findall(template)):
            wrong.append(where)

    assert len(named) > 20
    assert wrong == []


def test_each_parameter_that_a_hint_names_is_an_option() -> None:
    names = {str(ast.literal_eval(node.args[0])) for _, node in calls("Parameter") if node.args}
    options = {OPTIONS.get(name) or f"--{name.replace('_', '-')}" for name in names - OF_THE_API}

    assert names > OF_THE_API
    assert len(options) > 5
    assert options <= options_of(typer.main.get_command(app))


def test_errors_that_other_programs_read_name_no_command() -> None:
    found = [
        f"{file.name}:{node.lineno}"
        for file, node in calls(r"\w+Error")
        if any(folder in file.parents for folder in ANSWERED)
        if any("`headway " in text for text in texts(node))
    ]

    assert found == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("dags lst", "there is no command 'lst'"),
        ("runs clear X --versoin 3", "it has no ['--versoin']"),
    ],
)
def test_a_wrong_one_would_be_found(command: str, why: str) -> None:
    assert wrong_with(command.split()) == why
