"""A `.zip` file as one DAG file."""

import struct
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from headway.cli.local.dag_test import run_dag
from headway.domain.errors import DagError
from headway.runtime.daemon.clock import SystemClock
from headway.sdk.bundle import packages
from headway.sdk.bundle.packages import MOST_ENTRIES, dag_modules, names_modules
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec

DAG = """
from headway.sdk import DAG, task
from lib.names import NAME

with DAG(NAME):
    @task
    def say():
        import late
        return late.WORD + NAME
    say()
"""
WHOLE = {
    "flights.py": DAG,
    "late.py": "WORD = 'late '",
    "lib/__init__.py": "",
    "lib/names.py": "NAME = 'flights'",
    "lib/dag.py": "raise RuntimeError('headway: this is no module at the root')",
    "nested.zip": "dag headway",
}


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Forget what a test has imported."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def pack(file: Path, entries: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", method) as package:
        for name, content in entries.items():
            package.writestr(name, content)
    return file


def forget() -> None:
    for name in ("lib", "lib.names", "late"):
        sys.modules.pop(name, None)


def test_the_modules_at_its_root_that_look_like_dag_files_are_imported(tmp_path: Path) -> None:
    package = pack(tmp_path / "team" / "flights.zip", WHOLE)

    (dag,) = load_dag_file(package, tmp_path)

    assert dag.dag_id == "flights"
    assert dag.file is not None
    assert (dag.file.path, dag.file.bundle_root) == (package, tmp_path)
    assert to_spec(dag, "team/flights.zip").relative_path == "team/flights.zip"
    assert sys.path[:3] == [str(package), str(package.parent), str(tmp_path)]


def test_its_tasks_run_where_nothing_but_the_package_was_copied_to(tmp_path: Path) -> None:
    """A worker has the content alone, in a folder that is named by its manifest."""
    content = pack(tmp_path / "dags" / "flights.zip", WHOLE).read_bytes()
    copy = tmp_path / "cache" / "0123" / "flights.zip"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(content)

    (dag,) = load_dag_file(copy, copy.parent)
    (task,) = dag.tasks

    assert task.execute({}) == "late flights"  # type: ignore[arg-type]
    assert sys.modules["late"].__file__ == f"{copy}/late.py"


def test_a_package_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "flights.zip"
    load_dag_file(pack(file, WHOLE), tmp_path)
    forget()
    (dag,) = load_dag_file(
        pack(file, {"x.py": "#" * 5000, **WHOLE, "lib/names.py": "NAME = 'other'"}), tmp_path
    )

    assert dag.dag_id == "other"


def test_two_modules_of_one_package_may_not_make_the_same_dag(tmp_path: Path) -> None:
    source = "from headway.sdk import DAG\nDAG('one')\n"

    with pytest.raises(DagError, match=r"two\.zip makes 2 DAGs with the id 'one'"):
        load_dag_file(pack(tmp_path / "two.zip", {"a.py": source, "b.py": source}), tmp_path)


def test_a_module_that_another_one_imports_makes_its_dags_once(tmp_path: Path) -> None:
    package = pack(
        tmp_path / "two.zip",
        {
            "a.py": "import b\nfrom headway.sdk import DAG\n",
            "b.py": "import headway.sdk as h\nh.DAG('b')\n",
        },
    )

    assert [dag.dag_id for dag in load_dag_file(package, tmp_path)] == ["b"]


def test_an_error_names_the_place_in_the_package(tmp_path: Path) -> None:
    package = pack(tmp_path / "bad.zip", {"a.py": "# a headway dag\n1 +\n"})

    with pytest.raises(SyntaxError) as caught:
        load_dag_file(package, tmp_path)

    assert (caught.value.filename, caught.value.lineno) == (f"{package}/a.py", 2)


def test_the_command_line_runs_a_dag_of_a_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = pack(tmp_path / "flights.zip", WHOLE)

    assert run_dag(package, "flights", None, {}, SystemClock().now()) == 0
    assert "flights: success" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["/etc/a.py", "../a.py", "x/../../a.py", "x\\..\\a.py", "C:\\a.py"]
)
def test_no_entry_leads_out(tmp_path: Path, name: str) -> None:
    package = pack(tmp_path / "bad.zip", {name: "x"})

    with pytest.raises(DagError, match="which leads out of it"):
        dag_modules(package, package.read_bytes())


def test_there_is_a_bound_to_the_number_of_entries(tmp_path: Path) -> None:
    many = {f"{number}.txt": "" for number in range(MOST_ENTRIES)}
    most = pack(tmp_path / "most.zip", many)
    assert dag_modules(most, most.read_bytes()) == []

    too_many = pack(tmp_path / "many.zip", {**many, "more.txt": ""})
    with pytest.raises(DagError, match="has 10,001 entries"):
        dag_modules(too_many, too_many.read_bytes())


def test_there_is_a_bound_to_what_the_entries_unpack_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pack(tmp_path / "bomb.zip", {"a.txt": "0" * 600_000, "b.txt": "0" * 600_000})
    assert package.stat().st_size < 4_000
    monkeypatch.setattr(packages, "MOST_BYTES", 1_200_000)
    assert dag_modules(package, package.read_bytes()) == []
    monkeypatch.setattr(packages, "MOST_BYTES", 1_199_999)

    with pytest.raises(DagError, match="unpacks to 1,200,000 bytes"):
        dag_modules(package, package.read_bytes())


def sized(package: Path, size: int) -> Path:
    """Have the directory of a package say that its one entry is of another size."""
    content = bytearray(package.read_bytes())
    struct.pack_into("<I", content, content.rindex(b"PK\1\2") + 24, size)
    package.write_bytes(content)
    return package


@pytest.mark.parametrize("says", [10, 10_000_001])
def test_an_entry_unpacks_to_what_the_directory_says(tmp_path: Path, says: int) -> None:
    package = sized(pack(tmp_path / "bomb.zip", {"data.txt": "0" * 10_000_000}), says)

    with pytest.raises(DagError, match="is not what the directory says of it"):
        dag_modules(package, package.read_bytes())


def test_a_lie_is_found_before_all_of_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = sized(pack(tmp_path / "bomb.zip", {"data.txt": "0" * 20_000_000}), 10)
    seen: list[int] = []
    before = packages._pieces

    def count(*arguments: object) -> Iterator[bytes]:
        for piece in before(*arguments):  # type: ignore[arg-type]
            seen.append(len(piece))
            yield piece

    monkeypatch.setattr(packages, "_pieces", count)
    with pytest.raises(DagError):
        dag_modules(package, package.read_bytes())

    assert sum(seen) <= 2**20


def test_an_encrypted_package_is_refused(tmp_path: Path) -> None:
    content = bytearray(pack(tmp_path / "secret.zip", {"a.py": DAG}).read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "secret.zip").write_bytes(content)

    with pytest.raises(DagError, match="is encrypted"):
        dag_modules(tmp_path / "secret.zip", bytes(content))


def test_a_method_that_python_cannot_import_is_refused(tmp_path: Path) -> None:
    package = pack(tmp_path / "slow.zip", {"a.py": DAG}, zipfile.ZIP_LZMA)

    with pytest.raises(DagError, match="Python cannot import"):
        dag_modules(package, package.read_bytes())


def test_whatever_is_no_package_is_an_error_of_it(tmp_path: Path) -> None:
    whole = pack(tmp_path / "whole.zip", WHOLE).read_bytes()
    bad = tmp_path / "bad.zip"
    for content in (
        b"",
        b"no zip",
        whole[:-30],
        whole[100:],
        whole[:50] + b"\0" * 200 + whole[250:],
    ):
        bad.write_bytes(content)
        with pytest.raises(DagError, match=r"bad\.zip is no sound zip file"):
            dag_modules(bad, bad.read_bytes())


@pytest.mark.parametrize(
    ("entries", "has"),
    [
        (WHOLE, True),
        ({"data.csv": "a,b"}, False),
        ({"lib/a.py": DAG}, False),
        ({"a.pyc": "", "py": "", "x.py/y.txt": ""}, False),
        ({}, False),
    ],
)
def test_the_names_of_a_package_tell_whether_it_has_modules(
    tmp_path: Path, entries: dict[str, str], has: bool
) -> None:
    assert names_modules(pack(tmp_path / "a.zip", entries).read_bytes()) is has


def test_what_is_half_a_package_is_none_that_may_be_passed_over(tmp_path: Path) -> None:
    whole = BytesIO(pack(tmp_path / "a.zip", {"data.csv": "a,b"}).read_bytes()).getvalue()

    assert names_modules(whole[:-30])
    assert names_modules(b"something else")
