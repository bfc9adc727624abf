"""What becomes of the DAG files of a folder, whatever they do."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from mmap import mmap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from headway.airflow_layer import notes
from headway.airflow_layer.differences import INTERVAL
from headway.cli.main import app
from headway.domain.errors import RequestError
from headway.runtime.settings.parser import ParserSettings
from headway.testing.data.airflow_names import without_airflow
from headway_parser.import_check import CheckedFile, check_folder
from headway_parser.parse.answer import check_answer
from headway_parser.single_parse import parse_apart

FINE = "from airflow.sdk import DAG\nwith DAG('{name}'):\n    pass\n"
FILES = {
    "fine.py": FINE.format(name="fine"),
    "own.py": "from headway.sdk import DAG\nwith DAG('own', schedule='@daily'):\n    pass\n",
    "daily.py": "from airflow import DAG\nwith DAG('daily', schedule='@daily', catchup=False):\n"
    "    pass\n",
    "old.py": "from airflow import DAG\nwith DAG('old', orientation='TB'):\n    pass\n",
    "lists.py": f"from airflow.decorators import task\n{FINE.format(name='lists')}"
    "lambda t, ti: (t.expand(x=[1]), ti.xcom_pull('t'))\n",
    "asset.py": "from airflow.sdk import DAG\n\nfrom airflow.sdk import Asset\n",
    "wrong.py": "from airflow.sdk import DAG\n\nDAG('wrong', nonsense=1)\n",
    "syntax.py": "from airflow.sdk import DAG\nx = (\n",
    "crash.py": "from airflow.sdk import DAG\nimport os\nos._exit(3)\n",
    "killed.py": "from airflow.sdk import DAG\nimport os\nos.kill(os.getpid(), 9)\n",
    "hang.py": "from airflow.sdk import DAG\nimport time\ntime.sleep(60)\n",
    "noise.py": f"print('noise')\n{FINE.format(name='noise')}",
    "other.txt": "dag airflow",
    "other.py": "nothing of either",
}


@pytest.fixture(autouse=True)
def _airflow() -> Iterator[None]:
    with without_airflow():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("dags")
    for name, text in FILES.items():
        (found / name).write_text(text)
    return found


@pytest.fixture(scope="module")
def checked(folder: Path) -> dict[str, CheckedFile]:
    given = ParserSettings.model_validate({"dag_file_processor_timeout": 1})
    return {each.path: each for each in check_folder(folder, given)}


def test_every_dag_file_is_there(checked: dict[str, CheckedFile]) -> None:
    assert set(checked) == FILES.keys() - {"other.txt", "other.py"}


@pytest.mark.parametrize("name", ["fine", "own", "noise"])
def test_what_loads_has_its_dags(checked: dict[str, CheckedFile], name: str) -> None:
    assert checked[f"{name}.py"] == CheckedFile(path=f"{name}.py", dag_ids=(name,))


def test_a_folder_whose_settings_choose_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "daily.py").write_text(FILES["daily.py"])
    given = ParserSettings.model_validate({"dags": tmp_path, "cron_semantics": "trigger"})

    [found] = check_folder(tmp_path, given)

    assert found.differences == ()


READS = "from headway.sdk import DAG, BaseHook, Variable\nDAG(Variable.get('name', 'default'))\n"
CONNECTS = f"{READS}DAG(BaseHook.get_connection('shop').host)\n"


def test_a_default_counts_where_the_environment_has_no_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reads.py").write_text(READS)
    given = ParserSettings.model_validate({})

    [found] = check_folder(tmp_path, given)
    assert (found.dag_ids, found.error) == (("default",), None)
    [said] = found.differences
    assert said.startswith("The file reads the variable name while it is parsed. A parser gives")
    assert "`headway variables grant name --bundle NAME`" in said
    assert "parse_time_secrets = true" in said

    monkeypatch.setenv("HEADWAY_VAR_NAME", "given")
    [found] = check_folder(tmp_path, given)
    assert found.dag_ids == ("given",)


def test_a_value_stands_in_for_what_has_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reads.py").write_text(CONNECTS)
    given = ParserSettings.model_validate({})

    [found] = check_folder(tmp_path, given)
    assert found.dag_ids == ("1", "default")
    [_, said] = found.differences
    assert said.startswith("This check has no value for the connection shop. It gave")
    assert "Check again with --connections FILE" in said

    monkeypatch.setenv("HEADWAY_CONN_SHOP", "http://there")
    [found] = check_folder(tmp_path, given)
    assert found.dag_ids == ("default", "there")
    [said] = found.differences
    assert "reads the connection shop, the variable name while" in said


def test_an_error_with_a_value_that_stands_in_says_so(tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(
        "from headway.sdk import DAG, Variable\n"
        "config = Variable.get('config', deserialize_json=True)\n"
        "DAG(f\"{config['team']}_{Variable.get('name')}\", schedule=Variable.get('cron'))\n"
    )

    [found] = check_folder(tmp_path, ParserSettings.model_validate({}))

    assert "'1'" in (found.error or "")
    [said] = found.differences
    assert "for the variable config, the variable name, the variable cron. It" in said


EXPORTED_VARIABLES = {
    "config": {"team": "sales"},
    "name": {"value": "daily", "description": "Airflow exports these two"},
    "cron": "@daily",
    "retries": 3,
}
EXPORTED_CONNECTIONS = {
    "shop": {
        "conn_type": "http",
        "description": "",
        "login": None,
        "password": None,
        "host": "there",
        "port": None,
        "schema": None,
        "extra": '{"a": 1}',
    },
    "lake": "s3://bucket",
}


def test_the_command_reads_what_airflow_exports(tmp_path: Path) -> None:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "reads.py").write_text(
        "from headway.sdk import DAG, BaseHook, Variable\n"
        "config = Variable.get('config', deserialize_json=True)\n"
        "shop, lake = map(BaseHook.get_connection, ('shop', 'lake'))\n"
        "DAG(f\"{config['team']}_{Variable.get('name')}_{shop.host}_{shop.extra_dejson['a']}\",\n"
        "    schedule=Variable.get('cron'), max_active_runs=int(Variable.get('retries')))\n"
        "DAG(lake.host)\n"
    )
    variables, connections = tmp_path / "variables.json", tmp_path / "connections.json"
    variables.write_text(json.dumps(EXPORTED_VARIABLES))
    connections.write_text(json.dumps(EXPORTED_CONNECTIONS))

    status, said = run(
        dags, "--variables", str(variables), "--connections", str(connections), "-o", "json"
    )

    [found] = json.loads(said)["files"]
    assert (status, found["dag_ids"]) == (0, ["bucket", "sales_daily_there_1"])
    [reads] = found["differences"]
    assert reads.startswith("The file reads the connection lake, the connection shop, the var")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "holds no object"),
        ("{", "is no JSON"),
        (None, "cannot be read: No such file"),
    ],
)
def test_an_export_that_is_none_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "variables.json"
    if text is not None:
        file.write_text(text)

    result = CliRunner().invoke(app, ["import-check", str(tmp_path), "--variables", str(file)])

    assert isinstance(result.exception, RequestError)
    assert said in str(result.exception)


def test_what_is_ignored_is_a_warning(checked: dict[str, CheckedFile]) -> None:
    [warning] = checked["old.py"].warnings

    assert warning.startswith("The argument orientation of a DAG has no effect")


def test_what_differs_is_told_apart(checked: dict[str, CheckedFile]) -> None:
    assert checked["daily.py"].differences == (INTERVAL,)
    assert checked["daily.py"].warnings == ()
    assert checked["lists.py"].differences[0].startswith("xcom_pull of one id")


@pytest.mark.parametrize(
    ("name", "said", "line", "gap"),
    [
        ("asset.py", "Headway has no assets yet", 3, "assets"),
        ("wrong.py", "does not know the argument 'nonsense'", 3, None),
        ("syntax.py", "'(' was never closed", 2, None),
        ("crash.py", "ended its process (exit code 3)", None, None),
        ("killed.py", "ended its process (signal 9, Killed)", None, None),
        ("hang.py", "took more than 1 s", None, None),
    ],
)
def test_what_is_refused_says_why_and_where(
    checked: dict[str, CheckedFile], name: str, said: str, line: int | None, gap: str | None
) -> None:
    found = checked[name]

    assert found.error is not None
    assert said in found.error
    assert (found.line, found.gap) == (line, gap)


def test_what_was_told_of_another_file_is_not_told_again(tmp_path: Path) -> None:
    notes.note("other", "of another file")

    [found] = check_folder(
        only(tmp_path, "fine.py"), ParserSettings.model_validate({"dag_file_processor_timeout": 1})
    )

    assert found == CheckedFile(path="fine.py", dag_ids=("fine",))


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["import-check", str(folder), *arguments])
    return result.exit_code, result.stdout


def only(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text(FILES[name])
    return folder


@pytest.mark.parametrize(("use", "loads"), [("auto", False), ("always", True), ("never", False)])
def test_the_setting_hides_a_real_airflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, loads: bool
) -> None:
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "__init__.py").write_text("raise ImportError('the real one')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HEADWAY_PARSER_AIRFLOW_LAYER", use)

    status, said = run(only(tmp_path, "fine.py"))

    assert (status == 0, "fine.py: loads" in said, "the real one" in said) == (
        loads,
        loads,
        not loads,
    )


def test_a_dag_has_the_versions_of_the_provider_packages_that_its_code_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = "apache-airflow-providers-http"
    metadata = tmp_path / "site" / f"{package.replace('-', '_')}-6.3.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Name: {package}\nVersion: 6.3.0\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    root = tmp_path / "dags"
    root.mkdir()
    (root / "lib.py").write_text("def f():\n    import airflow.providers.http.hooks.http\n")
    (root / "names.py").write_text(f"import lib\n{FINE.format(name='names')}")
    (root / "fine.py").write_text(FILES["fine.py"])

    noted = {
        name: check_answer(name, parse_apart(root, name, None)).versions[0].spec.providers
        for name in ("names.py", "fine.py")
    }

    assert noted == {"names.py": {package: "6.3.0"}, "fine.py": {}}


def test_the_command_counts(tmp_path: Path) -> None:
    status, said = run(only(tmp_path, "fine.py", "old.py", "asset.py"), "-o", "json")

    found: dict[str, Any] = json.loads(said)
    assert status == 5
    assert found["summary"] == {"files": 3, "loaded": 2, "warned": 1, "refused": 1}
    assert [(each["path"], each["verdict"]) for each in found["files"]] == [
        ("asset.py", "refused"),
        ("fine.py", "loads"),
        ("old.py", "warned"),
    ]


def test_the_command_tells_a_person(tmp_path: Path) -> None:
    status, said = run(only(tmp_path, "fine.py", "daily.py", "old.py"))

    assert status == 0
    lines = said.splitlines()
    assert lines[0] == "daily.py: loads (daily)"
    assert lines[1].startswith("  differs: Nobody has said what ds and logical_date are")
    assert lines[2] == "fine.py: loads (fine)"
    assert lines[4].startswith("  ignored: The argument orientation")
    assert lines[-1] == "3 files, 3 loaded, 2 warned, 0 refused"


def test_a_refused_file_is_told_with_its_line(tmp_path: Path) -> None:
    status, said = run(only(tmp_path, "asset.py"))

    assert status == 5
    assert said.startswith("asset.py, line 3: refused: ")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    status, _ = run(tmp_path / "none")

    assert status == 2


def test_a_module_that_raises_for_every_name_is_no_hindrance(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some libraries have modules that import what is asked of them."""

    class Asking(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError(name)

    monkeypatch.setitem(sys.modules, "asking", Asking("asking"))
    (fine,) = (
        each
        for each in check_folder(
            folder, ParserSettings.model_validate({"dag_file_processor_timeout": 1})
        )
        if each.path == "fine.py"
    )
    assert fine.error is None


def test_what_the_command_itself_has_in_memory_does_not_count(folder: Path) -> None:
    """A file may take so much, however much the process has that it is forked from."""
    large = mmap(-1, 2**31 + 2**30)  # addresses alone: no page of it is touched
    with closing(large):
        (fine,) = (
            each
            for each in check_folder(
                folder, ParserSettings.model_validate({"dag_file_processor_timeout": 1})
            )
            if each.path == "fine.py"
        )
    assert fine.error is None
