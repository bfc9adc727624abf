"""`.headwayignore`: what of a folder is no DAG file, in the syntax of `.gitignore`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec, Pattern, RegexPattern

from headway.domain.errors import HeadwayError
from headway_parser.contents import read_regular

IGNORE_FILE: Final = ".headwayignore"
LARGEST: Final = 64 * 2**10
MOST_RULES: Final = 200
MOST_STARS: Final = 3
"""Wildcards of a rule: what a rule may cost grows by a power of the name's length with each."""
MOST_FOLDERS: Final = 1
"""`**` of a rule that stand for folders: these are tried at every `/` of a path."""
MOST_REMEMBERED: Final = 100_000


class IgnoreError(HeadwayError):
    """A file of rules cannot be used, and so nobody knows what it leaves out."""


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """The rules of one folder, with those of the folders above, which they override."""

    folder: str
    spec: GitIgnoreSpec
    above: "IgnoreRules | None"
    stamp: object
    _verdicts: dict[str, bool] = field(default_factory=dict)

    def ignore(self, path: str, *, is_folder: bool, pause: Callable[[], None]) -> bool:
        """Whether these rules leave out a path of the bundle whose folder they do not.

        `pause` is called before each rule that is tried; what it raises goes through.
        """
        name = f"{path}/" if is_folder else path
        if name not in self._verdicts:
            if len(self._verdicts) > MOST_REMEMBERED:
                self._verdicts.clear()
            self._verdicts[name] = self._judge(name, is_folder=is_folder, pause=pause)
        return self._verdicts[name]

    def _judge(self, name: str, *, is_folder: bool, pause: Callable[[], None]) -> bool:
        below = name.removeprefix(f"{self.folder}/") if self.folder else name
        for pattern in reversed(self.spec.patterns):
            pause()
            if pattern.include is not None and _names(pattern, below):
                return pattern.include
        if self.above is None:
            return False
        return self.above.ignore(name.removesuffix("/"), is_folder=is_folder, pause=pause)


def read_rules(file: Path) -> GitIgnoreSpec:
    """Read the rules of a file; IgnoreError if they cannot be read, or not be understood."""
    try:
        text = _read(file).decode()
    except OSError as error:
        raise IgnoreError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise IgnoreError(f"{file} is not UTF-8 text.") from None
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    rules = [line for line in lines if line.strip() and not line.startswith("#")]
    if len(rules) > MOST_RULES:
        raise IgnoreError(f"{file} has {len(rules)} rules; {MOST_RULES} is the limit.")
    for rule in rules:
        _check(file, rule)
    return GitIgnoreSpec.from_lines(rules)


def _read(file: Path) -> bytes:
    content = read_regular(file, LARGEST + 1)
    if content is None or len(content) > LARGEST:
        raise IgnoreError(f"{file} is no file of at most {LARGEST:,} bytes.")
    return content


def _check(file: Path, rule: str) -> None:
    names = rule.removeprefix("!").removesuffix("/**").split("/")
    folders = names.count("**")
    stars = folders + sum(name.count("*") for name in names if name != "**")
    if stars > MOST_STARS:
        raise IgnoreError(f"{file}: the rule {rule!r} has {stars} wildcards; {MOST_STARS} at most.")
    if folders > MOST_FOLDERS:
        raise IgnoreError(
            f"{file}: the rule {rule!r} has {folders} `**` before a name; {MOST_FOLDERS} at most."
        )
    try:
        GitIgnoreSpec.from_lines([rule])
    except (ValueError, re.error):
        raise IgnoreError(f"{file}: {rule!r} is no rule of .gitignore's syntax.") from None


def _names(pattern: Pattern, name: str) -> bool:
    """Whether a pattern names the path itself, and not just a folder that it lies in.

    The folders above were judged by themselves before.  A pattern that ends in `/**`
    names what is in a folder, and not the folder.
    """
    if not isinstance(pattern, RegexPattern) or pattern.regex is None:
        return False
    return any(_ends_there(match, name) for match in pattern.regex.finditer(name))


def _ends_there(match: re.Match[str], name: str) -> bool:
    if "ps_d" in match.re.groupindex:  # pathspec marks the end of a folder's name by this group
        return match.start("ps_d") in (-1, len(name) - 1)
    return match.re.pattern == "." or not (name.endswith("/") and match.end() == len(name))
