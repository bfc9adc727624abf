import os
import py_compile
import socket
from pathlib import Path

import pytest

from headway.runtime.processes.frames import Frame, receive_frame
from headway.serialization import codec
from headway_parser.child.parse_file import parse
from headway_parser.child.reading import ChangedError, FilesRead
from headway_parser.file_patterns import ABSENT

ROOT = Path("/srv/dags")


def read(*arguments: object, event: str = "open") -> set[str]:
    files = FilesRead(ROOT)
    files.hook(event, arguments)
    return set(files.stamps)


@pytest.mark.parametrize("mode", ["r", "rb", "rt", None])
def test_a_file_of_the_folder_that_is_opened_for_reading_is_noted(mode: str | None) -> None:
    assert read("/srv/dags/sql/a.sql", mode, 0) == {"sql/a.sql"}


@pytest.mark.parametrize("mode", ["w", "wb", "a", "x", "r+", "rb+"])
def test_one_that_is_written_is_not(mode: str) -> None:
    assert read("/srv/dags/out.txt", mode, 0) == set()


@pytest.mark.parametrize(
    "path",
    [
        "/srv/dags",
        "/srv/dags-too/a.py",
        "/srv/dags/../a.py",
        "/etc/passwd",
        "/srv/dags/__pycache__/a.pyc",
        "/srv/dags/lib/__pycache__/a.pyc",
        3,
        b"/srv/dags/a.py",
    ],
)
def test_what_is_no_source_of_the_folder_is_not_noted(path: object) -> None:
    assert read(path, "r", 0) == set()


def test_a_path_is_noted_under_one_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = FilesRead(tmp_path)
    (tmp_path / "lib").mkdir()
    monkeypatch.chdir(tmp_path / "lib")

    for path in ("a.py", "./a.py", f"{tmp_path}/lib/a.py", f"{tmp_path}/x/../lib//a.py"):
        files.hook("open", (path, "r", 0))

    assert set(files.stamps) == {"lib/a.py"}


def test_other_events_are_none_of_its_business() -> None:
    assert read("/srv/dags/a.py", event="import") == set()


def test_a_file_that_is_written_while_it_is_read_has_no_content(tmp_path: Path) -> None:
    files = FilesRead(tmp_path)
    (tmp_path / "a.py").write_text("one")
    files.hook("open", (f"{tmp_path}/a.py", "r", 0))
    assert files.contents() == {"a.py": b"one"}

    (tmp_path / "a.py").write_text("other")
    with pytest.raises(ChangedError, match="was written while it was read"):
        files.contents()
    with pytest.raises(ChangedError, match="was written while it was read"):
        files.hashes()


def test_a_file_that_comes_after_it_was_looked_for_counts_as_written(tmp_path: Path) -> None:
    files = FilesRead(tmp_path)
    files.hook("open", (f"{tmp_path}/a.py", "r", 0))
    assert files.hashes() == {"a.py": ABSENT}

    (tmp_path / "a.py").write_text("one")
    with pytest.raises(ChangedError, match="was written while it was read"):
        files.contents()


def parsed(root: Path, source: str, name: str = "d.py", semantics: str | None = None) -> Frame:
    """What a child answers on a file of this source.

    It runs in a process of its own: what it does to a process cannot be undone.
    """
    (root / name).write_text(source)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                argument = {
                    "root": str(root),
                    "path": name,
                    "bundle": "dags",
                    "cron_semantics": semantics,
                    "secrets": "refused",
                    "airflow_layer": "auto",
                }
                parse(argument, theirs)
            finally:
                os._exit(0)
        theirs.close()
        answer = receive_frame(ours)
        os.waitpid(child, 0)
    assert answer is not None
    return answer


DAG = "from headway.sdk import DAG, EmptyOperator\nwith DAG('d'): EmptyOperator(task_id='t')\n"
HERE = "from pathlib import Path\nhere = Path(__file__).parent\n"


def test_what_a_file_takes_in_belongs_to_its_code(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "names.py").write_text("NAME = 'x'\n")
    (tmp_path / "query.sql").write_text("SELECT 1")
    (tmp_path / "unused.py").write_text("")

    answer = parsed(
        tmp_path, f"{DAG}{HERE}import lib.names\nsql = (here / 'query.sql').read_text()\n"
    )

    assert len(answer["dags"]) == 1
    assert sorted(answer["files"]) == ["d.py", "lib/names.py", "query.sql"]
    assert answer["files"]["query.sql"] == b"SELECT 1"


PROBES = {
    "a file that may be missing": "try: open(here / 'none.json')\nexcept FileNotFoundError: pass\n",
    "a folder": "import os\nos.close(os.open(str(here / 'lib'), os.O_RDONLY))\n",
    "a scratch file": "import tempfile\ntempfile.NamedTemporaryFile(dir=here).close()\n",
}


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_what_a_file_only_looks_for_is_no_part_of_its_code(tmp_path: Path, probe: str) -> None:
    (tmp_path / "lib").mkdir()

    answer = parsed(tmp_path, f"{DAG}{HERE}{probe}")

    assert list(answer["files"]) == ["d.py"]


def test_what_a_file_looked_for_in_vain_is_told(tmp_path: Path) -> None:
    answer = parsed(tmp_path, f"{DAG}{HERE}{PROBES['a file that may be missing']}")

    assert answer["missing"] == ["none.json"]


def test_a_module_that_is_not_there_was_looked_for(tmp_path: Path) -> None:
    answer = parsed(tmp_path, f"import helper\n{DAG}")

    assert "No module named 'helper'" in answer["error"]
    absent = {path for path, content in answer["read"].items() if content == ABSENT}
    assert absent == {"helper.py", "helper/__init__.py"}


IN_VAIN = {
    "import local_settings": ["local_settings.py", "local_settings/__init__.py"],
    "from lib import helper": ["lib/helper.py", "lib/helper/__init__.py"],
    "import lib.helper": ["lib/helper.py", "lib/helper/__init__.py"],
    "import lib.names, importlib; importlib.import_module('.sub', 'lib')": [
        "lib/sub.py",
        "lib/sub/__init__.py",
    ],
    "import importlib.util as u; assert u.find_spec('other') is None": [
        "other.py",
        "other/__init__.py",
    ],
    "import lib.optional": ["inner.py", "inner/__init__.py"],
    "import winreg": [],  # Python's own
    "__import__('x' * 300)": [f"{'x' * 300}.py", f"{'x' * 300}/__init__.py"],
    "__import__('a\\0b')": [],
}


@pytest.mark.parametrize(("statement", "missing"), IN_VAIN.items(), ids=IN_VAIN)
def test_a_module_that_may_be_missing_is_told(
    tmp_path: Path, statement: str, missing: list[str]
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "names.py").write_text("")
    (tmp_path / "lib" / "optional.py").write_text("try: import inner\nexcept ImportError: pass\n")

    answer = parsed(tmp_path, f"try: {statement}\nexcept ImportError: pass\n{DAG}")

    assert answer["missing"] == missing


def test_a_module_is_looked_for_beside_its_file_and_in_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()

    answer = parsed(tmp_path, f"import helper\n{DAG}", "team/d.py")

    absent = {path for path, content in answer["read"].items() if content == ABSENT}
    names = {"helper.py", "helper/__init__.py"}
    assert absent == names | {f"team/{name}" for name in names}


def test_what_installed_packages_look_for_in_vain_is_their_own_business(tmp_path: Path) -> None:
    package = tmp_path / "installed" / "site-packages"
    package.mkdir(parents=True)
    (package / "packaged.py").write_text("try: import speedups\nexcept ImportError: pass\n")
    root = tmp_path / "dags"
    root.mkdir()

    answer = parsed(root, f"import sys\nsys.path.append({str(package)!r})\nimport packaged\n{DAG}")

    assert answer["missing"] == []


def test_a_module_that_comes_while_it_is_looked_for_is_found(tmp_path: Path) -> None:
    """It is written after the finders before have looked, and within a tick of the disk."""
    late = """
import sys
class Late:
    def find_spec(self, name, path=None, target=None):
        if name == 'helper':
            (here / 'helper.py').write_text('NAME = 1')
sys.meta_path.insert(-1, Late())
import helper
assert helper.NAME == 1
"""
    answer = parsed(tmp_path, f"{HERE}{late}{DAG}")

    assert (sorted(answer["files"]), answer["missing"]) == (
        ["d.py", "helper.py"],
        ["helper/__init__.py"],
    )


def test_a_module_is_imported_from_its_source(tmp_path: Path) -> None:
    """Bytecode that claims to be of this source, by its time and size, is not believed."""
    module = tmp_path / "names.py"
    module.write_text("NAME = 'old'\n")
    py_compile.compile(str(module))
    times = module.stat()
    module.write_text("NAME = 'new'\n")
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert list((tmp_path / "__pycache__").iterdir())

    answer = parsed(tmp_path, "import names\n" + DAG.replace("'d'", "names.NAME"))

    [data] = answer["dags"]
    assert codec.decode(data).dag_id == "new"
    assert answer["files"]["names.py"] == b"NAME = 'new'\n"


def test_a_file_that_writes_itself_has_no_result(tmp_path: Path) -> None:
    answer = parsed(tmp_path, f"{HERE}(here / 'd.py').write_text('# other')\n{DAG}")

    assert list(answer) == ["changed"]


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    answer = parsed(tmp_path, f"raise ValueError\n#{'x' * 9_000_000}")

    assert answer["error"].startswith("The file has 9,000,018 bytes")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit(3)", "calls sys.exit(3) while it is imported"),
        ("raise ValueError('bad luck')", "ValueError: bad luck"),
        ("1 +", "SyntaxError"),
        (f"{DAG}open('/srv/none')", "No such file"),
        (f"{HERE}(here / 'x').write_bytes(b'x' * 53_000_000)\nopen(here / 'x').close()", "limit"),
    ],
)
def test_an_error_is_the_answer(tmp_path: Path, source: str, message: str) -> None:
    answer = parsed(tmp_path, source)

    assert sorted(answer) == ["error", "gap", "line", "read"]
    assert message in answer["error"]
    assert "d.py" in answer["read"]


def test_a_file_that_is_empty_by_now_is_just_being_saved(tmp_path: Path) -> None:
    assert parsed(tmp_path, "").keys() == {"changed"}


@pytest.mark.parametrize(
    ("semantics", "name"), [(None, "data"), ("interval", "data"), ("trigger", "cron")]
)
def test_what_a_cron_string_means_is_stored(
    tmp_path: Path, semantics: str | None, name: str
) -> None:
    source = "from headway.sdk import DAG\nDAG('d', schedule='@daily')\n"

    [stored] = parsed(tmp_path, source, semantics=semantics)["dags"]

    assert codec.decode(stored).timetable.name == name
