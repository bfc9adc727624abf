"""Sentences with code in them: nothing of them becomes markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_api.pages.frame.wording import coded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Say `headway pools list`.", "Say <code>headway pools list</code>."),
        ("one ` alone", "one ` alone"),
        ("`<b>` and <b>", "<code>&lt;b&gt;</code> and &lt;b&gt;"),
        ("", ""),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, shown: str) -> None:
    assert coded(text) == shown


@given(st.text())
def test_no_text_is_markup(text: str) -> None:
    shown = str(coded(text)).replace("<code>", "").replace("</code>", "")
    assert "<" not in shown
    assert ">" not in shown
