"""Show text that others have written: coloured on a terminal, and without commanding that."""

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from headway.runtime.logs.escaping import visible


def show_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Print lines, each with the style that it has on a terminal; elsewhere they are plain."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line, style in lines:
        console.print(Text(visible(line), style=style))


def on_terminal() -> bool:
    """Whether a person looks at what is printed."""
    return sys.stdout.isatty()


def show_source(path: str, content: bytes) -> None:
    """Print a source file, coloured by its language on a terminal; of others, how large it is."""
    from rich.syntax import Syntax

    try:
        text = visible(content.decode())
    except UnicodeDecodeError:
        print(f"({len(content)} bytes that are no text)")
        return
    if not on_terminal():
        print(text, end="" if text.endswith("\n") else "\n")
        return
    lexer = Syntax.guess_lexer(path)
    Console().print(Syntax(text, lexer, theme="ansi_dark", word_wrap=True))
