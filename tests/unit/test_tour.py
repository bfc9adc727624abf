"""The pages on the code name files that exist; a walk leads through at most twelve."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "docs/tour.md").read_text()
MOST_FILES = 12


def walks() -> list[list[str]]:
    """The files of each walk, in order."""
    return [re.findall(r"^\d+\. `([^`]+)`:", walk, re.M) for walk in TOUR.split("\n## ")[1:]]


def test_a_walk_leads_through_at_most_twelve_files() -> None:
    assert [len(files) for files in walks()] == [MOST_FILES] * 3


def test_the_files_of_all_walks_exist() -> None:
    for path in {path for files in walks() for path in files}:
        assert (ROOT / path).is_file(), path


def test_the_names_that_a_paragraph_tells_of_are_in_its_file() -> None:
    """A name that is called in a paragraph is defined in the file, or in one that is named too."""
    for path, text in re.findall(
        r"^\d+\. `([^`]+\.py)`:(.*?)(?=^\d+\. |\Z|^## )", TOUR, re.M | re.S
    ):
        source = (ROOT / path).read_text()
        for name in re.findall(r"`([A-Za-z]+(?:\.[a-z_]+)?)`", text):
            last = name.rpartition(".")[2]
            known = re.search(rf"\b{last}\b", source)
            assert known or name in OF_OTHERS, f"{path}: {name}"


OF_OTHERS = {"DagSpec", "parsing_processes"}


def named(page: str) -> Iterator[str]:
    """The paths of Python files that a page names, `{a,b}` spelled out."""
    for path in re.findall(r"`([\w./{},]+\.py)`", (ROOT / page).read_text()):
        found = re.fullmatch(r"(.*)\{(.*)\}(.*)", path)
        yield from (
            [f"{found[1]}{name}{found[3]}" for name in found[2].split(",")] if found else [path]
        )


def test_the_files_that_a_change_begins_with_exist() -> None:
    places = [ROOT, ROOT / "shared/headway", *ROOT.glob("services/*/headway_*")]
    paths = list(named("docs/adding.md"))

    assert len(paths) > 60
    assert {
        path for path in paths if not any((place / path).is_file() for place in places)
    } == set()
