"""Bundles from git, each with a repository of its own."""

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.domain.errors import SettingsError
from headway.runtime.settings.bundles import BundleSettings
from headway.runtime.settings.configuration import read
from headway.runtime.settings.parser import ParserSettings
from headway_parser.bundles import GitBundle, GitError, open_bundles
from headway_parser.bundles.checkout import MOST_SAID
from headway_parser.bundles.git_command import GitCommand, git_environment

Open = Callable[..., GitBundle]


class Remote:
    """A repository that others push to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=author", "-c", "user.email=author@example.org")
        command = ["git", "-C", str(self.folder), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, **files: str) -> str:
        for name, content in files.items():
            path = self.folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remote")


@pytest.fixture
def open_bundle(tmp_path: Path, remote: Remote) -> Open:
    """Open a bundle of the remote; each call is another process's view of one folder."""

    def make(**given: object) -> GitBundle:
        source = BundleSettings.model_validate({"git": remote.url, "ref": "main", **given})
        git = GitCommand.find(dict(os.environ))
        return GitBundle("etl", source, tmp_path / "home" / "etl", git)

    return make


def trees(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "home" / "etl" / "trees").iterdir()}


def test_a_commit_is_checked_out_into_a_folder_of_its_own(
    remote: Remote, open_bundle: Open
) -> None:
    first = remote.commit(a="1", lib__b="2")
    bundle = open_bundle()

    assert (bundle.commit, bundle.root) == (None, None)
    assert bundle.newest() == first
    root = bundle.check_out(first)

    assert (bundle.commit, bundle.root) == (first, root)
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert files == {"a", "lib/b"}


def test_a_new_commit_leaves_the_files_of_the_one_before_alone(
    remote: Remote, open_bundle: Open
) -> None:
    bundle = open_bundle()
    before = bundle.check_out(remote.commit(a="1"))
    second = remote.commit(a="2")

    assert bundle.newest() == second
    after = bundle.check_out(second)

    assert [(root / "a").read_text() for root in (before, after)] == ["1", "2"]


def test_trees_that_are_older_than_the_one_before_are_removed(
    tmp_path: Path, remote: Remote, open_bundle: Open
) -> None:
    bundle = open_bundle()
    commits = [remote.commit(a=str(number)) for number in range(4)]
    for commit in commits:
        bundle.check_out(commit)

    assert trees(tmp_path) == set(commits[2:])
    bundle.check_out(commits[2])  # back again: it is the one in force now
    bundle.check_out(commits[0])
    assert trees(tmp_path) == {commits[2], commits[0]}


def test_a_branch_that_was_rewritten_is_followed(remote: Remote, open_bundle: Open) -> None:
    bundle = open_bundle()
    base = remote.commit(a="1")
    bundle.check_out(remote.commit(a="2"))
    remote.git("reset", "--quiet", "--hard", base)
    rewritten = remote.commit(a="3")

    assert bundle.newest() == rewritten
    assert (bundle.check_out(rewritten) / "a").read_text() == "3"


def test_a_ref_is_a_branch_a_tag_or_a_whole_commit(remote: Remote, open_bundle: Open) -> None:
    first = remote.commit(a="1")
    remote.git("tag", "light")
    remote.git("tag", "--annotate", "heavy", "--message=release")
    remote.git("branch", "release/7")
    last = remote.commit(a="2")

    refs = {
        ref: open_bundle(ref=ref).newest()
        for ref in ("light", "heavy", "refs/tags/heavy", "release/7", "main", "HEAD", first)
    }

    assert refs == {
        "light": first,
        "heavy": first,
        "refs/tags/heavy": first,
        "release/7": first,
        "main": last,
        "HEAD": last,
        first: first,
    }
    assert (open_bundle(ref=first).check_out(first) / "a").read_text() == "1"


def test_a_branch_is_not_taken_for_another_one_that_ends_alike(
    remote: Remote, open_bundle: Open
) -> None:
    remote.commit(a="1")
    remote.git("branch", "team/release")

    with pytest.raises(GitError, match="has no branch and no tag 'release'"):
        open_bundle(ref="release").newest()


def test_a_part_of_the_repository(remote: Remote, open_bundle: Open) -> None:
    commit = remote.commit(dags__a="1", other="2")
    bundle = open_bundle(subdir="dags")

    assert [path.name for path in bundle.check_out(commit).iterdir()] == ["a"]
    with pytest.raises(GitError, match="has no folder 'nowhere'"):
        open_bundle(subdir="nowhere").check_out(commit)


def test_a_remote_that_is_gone_leaves_the_checkout_in_force(
    remote: Remote, open_bundle: Open
) -> None:
    bundle = open_bundle()
    commit = remote.commit(a="1")
    root = bundle.check_out(commit)
    shutil.rmtree(remote.folder)

    with pytest.raises(GitError, match="git ls-remote failed: "):
        bundle.newest()
    with pytest.raises(GitError, match="git fetch failed: "):
        bundle.check_out("0" * 40)

    assert (bundle.commit, bundle.root) == (commit, root)
    assert (root / "a").read_text() == "1"


def test_a_tree_that_a_power_cut_has_left_is_made_again_without_the_remote(
    tmp_path: Path, remote: Remote, open_bundle: Open
) -> None:
    commit = remote.commit(a="1")
    root = open_bundle().check_out(commit)
    shutil.rmtree(remote.folder)
    (root / "a").write_text("")
    (tmp_path / "home" / "etl" / "boot").write_text("another start of the machine")

    assert (open_bundle().check_out(commit) / "a").read_text() == "1"


def test_what_a_killed_process_has_left_is_no_hindrance(
    tmp_path: Path, remote: Remote, open_bundle: Open
) -> None:
    folder = tmp_path / "home" / "etl"
    bundle = open_bundle()
    bundle.check_out(remote.commit(a="1"))
    (folder / "drafts" / "half" / "tree").mkdir(parents=True)
    second = remote.commit(a="2")
    (folder / "repository.git" / "refs" / "commits" / f"{second}.lock").touch()

    assert (bundle.check_out(second) / "a").read_text() == "2"
    assert list((folder / "drafts").iterdir()) == []


@pytest.mark.parametrize("target", ["/etc/hostname", "../../../../outside", "chain", "loop/.."])
def test_a_link_that_leads_out_is_no_part_of_the_bundle(
    tmp_path: Path,
    remote: Remote,
    open_bundle: Open,
    caplog: pytest.LogCaptureFixture,
    target: str,
) -> None:
    (tmp_path / "home" / "outside").mkdir(parents=True)
    (remote.folder / "inside").symlink_to("a")
    (remote.folder / "link").symlink_to(target)
    (remote.folder / "chain").symlink_to("/etc")
    (remote.folder / "loop").symlink_to("../../..")

    with caplog.at_level(logging.WARNING):
        root = open_bundle().check_out(remote.commit(a="1"))

    assert sorted(path.name for path in root.iterdir()) == ["a", "inside"]
    assert "link=link: it leads out" in caplog.text


def test_links_that_lead_out_are_named_on_one_line_each_and_not_without_end(
    remote: Remote, open_bundle: Open, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(MOST_SAID + 5):
        (remote.folder / f"a\naction=grant {number}").symlink_to("/etc")

    with caplog.at_level(logging.WARNING):
        root = open_bundle().check_out(remote.commit(a="1"))

    said = [record.getMessage() for record in caplog.records]
    assert [path.name for path in root.iterdir()] == ["a"]
    assert len(said) == MOST_SAID + 1
    assert all("\n" not in line for line in said)
    assert said[-1] == "action=skip_links links=25: they all lead out of the repository"


def test_hooks_and_submodules_do_nothing(
    tmp_path: Path, remote: Remote, open_bundle: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = tmp_path / "hook-ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {sign}\n")
        (hooks / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n")
    inner = Remote(tmp_path / "inner").commit(secret="1")
    remote.commit(a="1")
    remote.git("update-index", "--add", "--cacheinfo", f"160000,{inner},module")
    remote.git("commit", "--quiet", "--message=module")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    root = open_bundle().check_out(remote.git("rev-parse", "HEAD"))

    assert not sign.exists()
    assert (root / "a").is_file()
    assert not (root / "module" / "secret").exists()


def test_files_may_be_read_by_others_whatever_the_mask(remote: Remote, open_bundle: Open) -> None:
    commit = remote.commit(lib__a="1")
    mask = os.umask(0o077)
    try:
        root = open_bundle().check_out(commit)
    finally:
        os.umask(mask)

    modes = [path.stat().st_mode & 0o777 for path in (root, root / "lib", root / "lib" / "a")]
    assert modes == [0o755, 0o755, 0o644]


CHECK_OUT = """
import os, sys
from pathlib import Path
from headway.runtime.settings.bundles import BundleSettings
from headway_parser.bundles.git import GitBundle, GitCommand
url, folder, *commits = sys.argv[1:]
git = GitCommand.find(dict(os.environ))
bundle = GitBundle("etl", BundleSettings(git=url), Path(folder), git)
for commit in commits:
    assert (bundle.check_out(commit) / "a").read_text() == "x" * 100_000
"""


def test_two_processes_check_out_at_once(tmp_path: Path, remote: Remote) -> None:
    commits = [remote.commit(a="x" * 100_000, b=str(number)) for number in range(2)]
    command = [sys.executable, "-c", CHECK_OUT, remote.url, str(tmp_path / "home" / "etl")]

    both = [subprocess.Popen([*command, *order]) for order in (commits * 4, commits[::-1] * 4)]

    assert [process.wait(60) for process in both] == [0, 0]
    assert trees(tmp_path) == set(commits)


def test_a_password_is_in_no_message(open_bundle: Open) -> None:
    bundle = open_bundle(git="https://robot:geheim@127.0.0.1:1/dags.git")

    with pytest.raises(GitError) as caught:
        bundle.newest()

    assert "geheim" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_what_git_says_is_masked_even_if_git_does_not(tmp_path: Path) -> None:
    git = program(tmp_path, 'echo "fatal: $2 is bad" >&2; exit 1')

    with pytest.raises(GitError) as caught:
        git("ls-remote", "https://robot:geheim@example.org/x")
    assert "geheim" not in str(caught.value)


def program(tmp_path: Path, script: str) -> GitCommand:
    """A git that does what the script says, after its options."""
    path = tmp_path / "git"
    path.write_text(f'#!/bin/sh\nwhile [ "$1" = -c ]; do shift 2; done\n{script}\n')
    path.chmod(0o755)
    return GitCommand(str(path), {"PATH": os.environ["PATH"]}, timeout=0.5)


def test_a_git_that_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    git = program(tmp_path, f"sleep 60 & echo $! > {tmp_path}/pid; wait")

    with pytest.raises(GitError, match=r"git ls-remote took more than 0\.5 s"):
        git("ls-remote")

    started = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while lives(started) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not lives(started)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_git_knows_its_credentials_and_nothing_of_headway() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/home/parser",
        "HEADWAY_DATABASE_URL": "postgresql://u:p@h/d",
        "SSH_AUTH_SOCK": "/run/agent",
        "GIT_SSH_COMMAND": "ssh -i key",
        "GIT_DIR": "/elsewhere/.git",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "https_proxy": "http://u:p@proxy:3128",
        "AWS_SECRET_ACCESS_KEY": "x",
    }

    assert git_environment(given) == {
        "PATH": "/bin",
        "HOME": "/home/parser",
        "SSH_AUTH_SOCK": "/run/agent",
        "GIT_SSH_COMMAND": "ssh -i key",
        "https_proxy": "http://u:p@proxy:3128",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def test_without_git_a_bundle_of_git_is_refused() -> None:
    bundles = {"etl": {"git": "https://example.org/dags"}}

    with pytest.raises(SettingsError, match="there is no git on this parser's PATH"):
        list(open_bundles(read(ParserSettings, bundles=bundles), Path("/srv"), {"PATH": "/no"}))


@pytest.mark.parametrize("commit", ["", "main", "--all", "a" * 39, "../x", "A" * 40])
def test_only_whole_commits_are_checked_out(open_bundle: Open, commit: str) -> None:
    with pytest.raises(GitError, match="is no commit"):
        open_bundle().check_out(commit)
