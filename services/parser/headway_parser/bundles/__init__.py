"""Where DAG files come from: folders, and commits of git repositories."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.runtime.settings.parser import ParserSettings
from headway_parser.bundles.git import GitBundle
from headway_parser.bundles.git_command import GitCommand, GitError
from headway_parser.bundles.source import FolderBundle

__all__ = ["FolderBundle", "GitBundle", "GitError", "open_bundles"]


def open_bundles(
    given: ParserSettings, home: Path, environment: Mapping[str, str]
) -> Iterator[FolderBundle | GitBundle]:
    """Yield the bundles of the settings; checkouts are kept below `home`.

    Raises SettingsError when one is of git and there is no git.
    """
    for name, source in given.sources.items():
        if source.git is not None:
            git = GitCommand.find(environment)
            yield GitBundle(name, source, home / "bundles" / name, git)
        elif source.path is not None:
            yield FolderBundle(name, source.path.absolute())
