"""Jinja templates: which text is one, and whether it can be."""

from typing import Final

MARKS: Final = ("{{", "{%", "{#")
"""What text must contain to be a template; any other never loads the template engine."""


def fault_of(text: str) -> str | None:
    """Return why this text cannot be a template; None if it can, or is none."""
    if not any(mark in text for mark in MARKS):
        return None
    from jinja2 import TemplateSyntaxError
    from jinja2.sandbox import SandboxedEnvironment

    try:
        SandboxedEnvironment().parse(text)
    except TemplateSyntaxError as error:
        return str(error)
    return None
