"""`.headwayignore`: the same files are left out as git would leave out."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway_parser.discover.ignore import LARGEST, MOST_RULES, IgnoreError, IgnoreRules, read_rules
from headway_parser.discover.listing import Lister

DAG = "from headway.sdk import DAG\n"
FILES = ("a.py", "b.py", "lib/a.py", "lib/b.py", "lib/deep/a.py", "x/lib/b.py", "a b.py", "#a.py")


def write(root: Path, rules: dict[str, str], files: tuple[str, ...] = FILES) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(DAG)
    for folder, text in rules.items():
        (root / folder / ".headwayignore").write_text(text)


def by_git(root: Path) -> set[str]:
    """The files that git would take, were the rules its own."""
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    command = ["git", "-C", str(root), "ls-files", "-z", "--others"]
    listed = subprocess.run(
        [*command, "--exclude-per-directory=.headwayignore"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {name for name in listed.split("\0") if name.endswith(".py")}


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"": "lib/\n"}, ("#a.py", "a b.py", "a.py", "b.py")),
        ({"": "/lib\n"}, ("#a.py", "a b.py", "a.py", "b.py", "x/lib/b.py")),
        ({"": "# a comment\n\n*.py\n!b.py\n"}, ("b.py", "lib/b.py", "x/lib/b.py")),
        ({"": "*.py", "lib": "!a.py"}, ("lib/a.py", "lib/deep/a.py")),
        ({"lib": "/a.py"}, tuple(sorted(set(FILES) - {"lib/a.py"}))),
        ({"": "lib", "lib": "!a.py"}, ("#a.py", "a b.py", "a.py", "b.py")),
        ({"": "*\n!*/\n!a.py\n"}, ("a.py", "lib/a.py", "lib/deep/a.py")),
        ({"": "**/deep/*\r\n"}, tuple(sorted(set(FILES) - {"lib/deep/a.py"}))),
        ({"": "\\#a.py\na\\ b.py\n"}, tuple(sorted(set(FILES) - {"#a.py", "a b.py"}))),
    ],
)
def test_rules_hold_from_their_folder_down_and_deeper_ones_win(
    tmp_path: Path, rules: dict[str, str], left: tuple[str, ...]
) -> None:
    write(tmp_path, rules)

    assert Lister().list(tmp_path).paths == left
    assert set(left) == by_git(tmp_path)


RULE = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "!"]),
        st.sampled_from(["", "/", "**/"]),
        st.sampled_from(["a.py", "b.py", "lib", "deep", "x", "*", "*.py", "[ab].py", "?.py", "l*"]),
        st.sampled_from(["", "/", "/*", "/a.py", "/**"]),
    ),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    top=st.lists(RULE, max_size=4),
    below=st.lists(RULE, max_size=3),
)
def test_git_is_of_the_same_opinion(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], below: list[str]
) -> None:
    root = tmp_path_factory.mktemp("bundle")
    write(root, {"": "\n".join(top), "lib": "\n".join(below)})

    assert set(Lister().list(root).paths) == by_git(root)


BROKEN = {
    "no text": b"a\xff.py\n",
    "no rule": b"!\n",
    "a range the wrong way round": b"[z-a].py\n",
    "wildcards that would take for ever": b"*a*a*a*a*a*a.py\n",
    "folders that would take for ever": b"**/a/**/a/**/a/**/b\n",
    "folders that would take long": b"/**/a/**/b\n",
    "too many rules": b"x\n" * (MOST_RULES + 1),
    "too large": b"#" * (LARGEST + 1),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_nobody_understands_stops_its_folder_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    write(tmp_path, {})
    (tmp_path / "lib" / ".headwayignore").write_bytes(content)
    lister = Lister()

    listings = [lister.list(tmp_path) for _ in range(2)]

    assert {listing.complete for listing in listings} == {False}
    assert listings[0].paths == ("#a.py", "a b.py", "a.py", "b.py", "x/lib/b.py")
    assert caplog.text.count("lib/.headwayignore") == 1


def test_rules_that_are_a_pipe_block_nothing(tmp_path: Path) -> None:
    write(tmp_path, {})
    os.mkfifo(tmp_path / ".headwayignore")

    listing = Lister().list(tmp_path)

    assert (listing.paths, listing.complete) == ((), False)


def test_rules_are_read_again_when_they_change(tmp_path: Path) -> None:
    write(tmp_path, {"": "lib\nx\n"}, ("a.py", "lib/deep/b.py", "x/b.py"))
    lister = Lister()
    assert lister.list(tmp_path).paths == ("a.py",)

    (tmp_path / ".headwayignore").write_text("x")
    assert lister.list(tmp_path).paths == ("a.py", "lib/deep/b.py")
    (tmp_path / ".headwayignore").unlink()
    assert lister.list(tmp_path).paths == ("a.py", "lib/deep/b.py", "x/b.py")


@pytest.mark.parametrize("rule", ["**/lib/**", "/**/deep/", "lib/**/a.py", "!**/lib/**"])
def test_a_common_rule_is_not_taken_for_one_that_costs_too_much(tmp_path: Path, rule: str) -> None:
    write(tmp_path, {"": rule})

    assert set(Lister().list(tmp_path).paths) == by_git(tmp_path)


def test_the_time_is_looked_at_before_each_rule(tmp_path: Path) -> None:
    (tmp_path / ".headwayignore").write_text("x\n" * MOST_RULES)
    rules = IgnoreRules("", read_rules(tmp_path / ".headwayignore"), None, None)
    pauses: list[None] = []

    assert not rules.ignore("a.py", is_folder=False, pause=lambda: pauses.append(None))
    assert len(pauses) == MOST_RULES


PIECE = st.sampled_from(["a", "b", "/", "/", "**/", "/**/", "*", "?", "[ab]"])
PATHS = ("a/" * 64 + "c", "/".join(["a" * 255] * 15), "a" * 255, "ab/" * 64 + "a.py")


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pieces=st.lists(PIECE, min_size=1, max_size=8))
def test_no_rule_that_is_allowed_takes_long(tmp_path: Path, pieces: list[str]) -> None:
    """The processor's time counts, and the limit is ten times what the worst rule needs."""
    file = tmp_path / ".headwayignore"
    file.write_text("".join(pieces))
    try:
        rules = IgnoreRules("", read_rules(file), None, None)
    except IgnoreError:
        return
    for path in PATHS:
        began = time.process_time()
        rules.ignore(path, is_folder=False, pause=lambda: None)
        assert time.process_time() - began < 1.5
