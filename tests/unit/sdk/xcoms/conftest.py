"""A version whose modules define classes, in this process."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from headway.sdk.bundle.bundle_imports import importing
from headway.testing.data.version_code import version_code

SHAPES = b"""
import enum
import subprocess
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, PrivateAttr


class Point(NamedTuple):
    x: Any
    y: Any = None


Renamed = namedtuple("Other", "a b")


class Color(enum.Enum):
    RED = "red"
    GREEN = [1]


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    HIGH = 3


@dataclass(frozen=True, slots=True)
class Box:
    content: Any
    label: str = ""


@dataclass
class Counted:
    count: int
    total: int = field(init=False)

    def __post_init__(self):
        self.count += 1
        self.total = self.count
        self.extra = "made"

    @dataclass(frozen=True)
    class Inside:
        a: int


class Row(BaseModel):
    name: str = Field(alias="Name")
    tags: Any = None


class Hiding(BaseModel):
    _secret: int = PrivateAttr(default=3)


def local():
    @dataclass
    class Local:
        a: int

    return Local(1)
"""


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module `lib.shapes` of a version that this process runs."""
    root = Path(tmp_path_factory.mktemp("version"), "dags")
    path, known = sys.path.copy(), set(sys.modules)
    sys.path.insert(0, str(root))
    with importing(version_code(root, {"lib/shapes.py": SHAPES, "lib/gone.py": b""}, {})):
        from importlib import import_module

        yield import_module("lib.shapes")
    sys.path[:] = path
    for name in {name for name in sys.modules if name.split(".")[0] == "lib"} - known:
        del sys.modules[name]
