"""Stores whose options can be looked at: they are in memory."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry
from fsspec.utils import infer_storage_options


class ToldFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that keeps what it was told."""

    protocol = "sftp"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def __init__(self, **options: Any) -> None:
        self.told = options
        super().__init__()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(infer_storage_options(path)["path"])


@pytest.fixture
def _told_stores() -> Iterator[None]:
    """Have `sftp://` and `ftp://` be such stores."""
    before = dict(_registry)
    for scheme in ("sftp", "ftp"):
        register_implementation(scheme, ToldFileSystem, clobber=True)
    yield
    _registry.clear()
    _registry.update(before)
