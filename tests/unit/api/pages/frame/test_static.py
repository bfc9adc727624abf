"""The files that pages load."""

import re
from pathlib import Path

import pytest

from headway_api import pages
from headway_api.pages.frame.assets import ASSETS

_FOLDER = Path(pages.__file__).parent
_SCRIPTS = sorted(path for path in ASSETS.files if path.endswith(".js"))
_TEMPLATES = sorted((_FOLDER / "templates").glob("*.html"))

MOST_LINES = 200
"""Of one script; all together may have 2,000."""


@pytest.mark.parametrize("path", _SCRIPTS)
def test_scripts_are_short_and_load_nothing_from_elsewhere(path: str) -> None:
    text = ASSETS.files[path].decode()

    assert len(text.splitlines()) <= MOST_LINES
    assert "http:" not in text
    assert "https:" not in text
    for name in re.findall(r'from "(.*?)"', text):
        assert name.startswith("./")
        assert name.removeprefix("./") in ASSETS.files


def test_all_scripts_together_are_no_framework() -> None:
    assert sum(len(ASSETS.files[path].splitlines()) for path in _SCRIPTS) <= 2_000


@pytest.mark.parametrize("path", _TEMPLATES, ids=lambda path: path.name)
def test_templates_have_no_script_and_no_style_of_their_own(path: Path) -> None:
    text = path.read_text()

    assert not re.search(r"\s(style|on\w+)=", text)
    assert "<style" not in text
    assert "| safe" not in text
    assert all("src=" in tag for tag in re.findall(r"<script.*?>", text))


def test_an_asset_has_an_address_that_changes_with_the_files() -> None:
    assert ASSETS.address("headway.css") == f"/static/{ASSETS.digest}/headway.css"
    with pytest.raises(KeyError):
        ASSETS.address("none.css")


def test_every_file_that_templates_name_is_there() -> None:
    for path in _TEMPLATES:
        for name in re.findall(r"asset\('(.*?)'\)", path.read_text()):
            assert name in ASSETS.files


@pytest.mark.parametrize("page", ["base", "dag", "log", "pool"])
def test_pages_load_early_just_what_their_scripts_import(page: str) -> None:
    names = dict.fromkeys(["base", page])
    text = "".join((_FOLDER / "templates" / f"{name}.html").read_text() for name in names)
    scripts = set(re.findall(r"<script .*?asset\('(.*?)'\)", text))
    early = set(re.findall(r'"(\w+\.js)"', text))

    assert scripts | early == _imported(scripts)
    assert not scripts & early


def _imported(scripts: set[str]) -> set[str]:
    """Return scripts with all that they import, and what that imports."""
    found, new = set(scripts), set(scripts)
    while new:
        texts = [ASSETS.files[path].decode() for path in new]
        new = {name for text in texts for name in re.findall(r'from "\./(.*?)"', text)} - found
        found |= new
    return found
