import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import LazyLoader, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from headway import sdk
from headway_parser.child import preloaded, search_path
from headway_parser.child.preloaded import (
    Preloaded,
    UnfitError,
    begin,
    check,
    installed_imports,
    keep,
)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    path, kind = sys.path, type(sys)
    yield
    preloaded._kept.clear()
    search_path._seen.clear()
    sys.__class__ = kind
    sys.path = path


def preload(*files: Path, tops: frozenset[str] = frozenset()) -> None:
    keep(Preloaded({str(file): preloaded._stamp(str(file)) for file in files}, tops))


def test_where_nothing_is_preloaded_all_is_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "acme.py").touch()

    begin()
    check(tmp_path)


def test_a_file_that_has_changed_or_come_or_gone_makes_it_outdated(tmp_path: Path) -> None:
    there, absent = tmp_path / "there.py", tmp_path / "absent"
    there.write_text("1")
    preload(there, absent)
    begin()

    there.write_text("12")
    with pytest.raises(UnfitError, match=r"there\.py has changed") as changed:
        begin()
    assert changed.value.outdated

    preload(there, absent)
    absent.touch()
    with pytest.raises(UnfitError, match="absent has changed"):
        begin()

    preload(there)
    there.unlink()
    with pytest.raises(UnfitError, match=r"there\.py has changed"):
        begin()


@pytest.mark.parametrize("entry", ["acme.py", "acme", "acme.cpython-311-x86_64-linux-gnu.so"])
def test_a_module_of_the_bundle_with_a_preloaded_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "dags" / "team"), *sys.path])
    (tmp_path / "dags" / "team").mkdir(parents=True)
    preload(tops=frozenset({"acme"}))
    (tmp_path / "dags" / "acme.py").touch()  # is on no path
    (tmp_path / "dags" / "team" / "acme.json").touch()
    check(tmp_path / "dags")

    (tmp_path / "dags" / "team" / entry).touch()
    with pytest.raises(UnfitError, match="has the name of a preloaded module") as refused:
        check(tmp_path / "dags")
    assert not refused.value.outdated


@pytest.mark.parametrize("place", ["dags/lib", "elsewhere"])
def test_a_module_is_refused_that_was_on_the_path_for_an_import_only(
    tmp_path: Path, place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "acme.py").touch()
    preload(*map(Path, filter(None, sys.path)), tops=frozenset({"acme"}))
    begin()
    check(tmp_path / "dags")

    sys.path.insert(0, str(folder))
    sys.path.remove(str(folder))
    with pytest.raises(UnfitError, match=f"{place}/acme.py has the name of a preloaded module"):
        check(tmp_path / "dags")


def test_a_folder_on_the_path_that_is_not_there_does_no_harm(tmp_path: Path) -> None:
    preload(*map(Path, filter(None, sys.path)), tops=frozenset({"acme"}))
    begin()

    sys.path.insert(0, str(tmp_path / "dags" / "absent"))
    check(tmp_path / "dags")


def test_a_package_on_the_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "d.zip"), *sys.path])
    (tmp_path / "d.zip").touch()
    preload()

    with pytest.raises(UnfitError, match="no folder"):
        check(tmp_path)


def test_random_numbers_of_numpy_begin_anew() -> None:
    np.random.seed(1)
    expected = np.random.random()
    np.random.seed(1)
    preload()

    begin()

    assert np.random.random() != expected


def test_imports_of_installed_packages_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in preloaded.LARGE.values():
        monkeypatch.delitem(sys.modules, name, raising=False)
    source = b"import json, numpy, headway, absent\nfrom sqlalchemy import engine, Engine\n"

    assert installed_imports(tmp_path, [source]) == ["numpy", "sqlalchemy", "sqlalchemy.engine"]
    inside = Path(np.__file__).parents[1]
    assert installed_imports(inside, [source]) == []

    monkeypatch.setattr(preloaded, "_begun", {"numpy", "sqlalchemy"})
    assert installed_imports(tmp_path, [source]) == ["sqlalchemy.engine"]


def test_a_module_that_no_source_names_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in preloaded.LARGE.values():
        monkeypatch.delitem(sys.modules, name, raising=False)
    file = tmp_path / "lazy.py"
    file.write_text("import absent\n")
    loader = LazyLoader(SourceFileLoader("lazy", str(file)))
    spec = spec_from_file_location("lazy", file, loader=loader)
    assert spec is not None
    lazy = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    loader.exec_module(lazy)  # its code runs when an attribute is asked for

    assert installed_imports(tmp_path, [b"import json, sqlalchemy\n"]) == ["sqlalchemy"]


def test_a_large_module_of_the_sdk_is_told_where_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (large,) = preloaded.LARGE.values()
    source = b"from headway.sdk import ObjectStoragePath\n"
    monkeypatch.setitem(sys.modules, large, sys)

    assert installed_imports(tmp_path, [source]) == [large]

    monkeypatch.setattr(preloaded, "_begun", {large})
    assert installed_imports(tmp_path, [source]) == []


def test_the_large_names_are_of_these_modules() -> None:
    for name, module in preloaded.LARGE.items():
        assert getattr(sdk, name).__module__ == module
