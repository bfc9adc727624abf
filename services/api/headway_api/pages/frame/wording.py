"""Sentences of Headway as pages show them."""

from markupsafe import Markup, escape

from headway.runtime.logs.escaping import visible


def coded(text: str) -> Markup:
    """Return a text in which what stands between backticks is code."""
    parts = [escape(part) for part in visible(text).split("`")]
    if len(parts) % 2 == 0:
        return Markup("`").join(parts)
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(part) if nth % 2 else part for nth, part in enumerate(parts))
