import os
import socket
from pathlib import Path

import pytest

from headway.runtime.frames import Frame, receive_frame
from headway_parser.child import FilesRead, parse

ROOT = Path("/srv/dags")


def read(*arguments: object, event: str = "open") -> set[str]:
    files = FilesRead(ROOT)
    files.hook(event, arguments)
    return files.paths


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

    assert files.paths == {"lib/a.py"}


def test_other_events_are_none_of_its_business() -> None:
    assert read("/srv/dags/a.py", event="import") == set()


def parsed(root: Path, source: str) -> Frame:
    """What a child answers on a file `d.py` of this source.

    It runs in a process of its own: what it does to a process cannot be undone.
    """
    (root / "d.py").write_text(source)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                parse({"root": str(root), "path": "d.py"}, theirs)
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

    assert list(parsed(tmp_path, f"{DAG}{HERE}{probe}")["files"]) == ["d.py"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit(3)", "calls sys.exit(3) while it is imported"),
        ("raise ValueError('bad luck')", "ValueError: bad luck"),
        ("1 +", "SyntaxError"),
        (f"{DAG}open('/srv/none')", "No such file"),
        (f"{HERE}(here / 'x').write_bytes(b'x' * 9_000_000)\nopen(here / 'x').close()", "limit"),
    ],
)
def test_an_error_is_the_answer(tmp_path: Path, source: str, message: str) -> None:
    answer = parsed(tmp_path, source)

    assert sorted(answer) == ["error", "read"]
    assert message in answer["error"]
    assert "d.py" in answer["read"]
