"""What unit tests share: surroundings without any settings of Headway."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.runtime.settings import configuration


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No settings from outside, no database, and an empty home: `tmp_path`."""
    for name in configuration.environment():
        if name.startswith("HEADWAY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    configuration.config_file.cache_clear()
    yield
    configuration.config_file.cache_clear()
