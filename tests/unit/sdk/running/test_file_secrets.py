"""What a DAG file reads of connections and variables at its top level."""

from pathlib import Path

import pytest

from headway.domain.variable import SecretKind
from headway.sdk.exceptions import AirflowNotFoundException, RefusedException
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.file_secrets import FileSecrets, RefusedSecrets
from headway.sdk.running.provided_secrets import provided_secrets
from headway.testing.data.file_source import FileSource

IMPORTS = "from headway.sdk import DAG, BaseHook, Variable\n"


def source() -> FileSource:
    return FileSource({"v": "[1, 2]"}, {"c": "http://there"})


def loaded(folder: Path, text: str, secrets: FileSecrets | None = None) -> list[str]:
    (folder / "d.py").write_text(IMPORTS + text)
    given = secrets or FileSecrets(source())
    return [dag.dag_id for dag in load_dag_file(folder / "d.py", folder, secrets=given)]


def test_a_file_reads_them_at_its_top_level(tmp_path: Path) -> None:
    text = (
        "for n in Variable.get('v', deserialize_json=True):\n    DAG(f'd{n}')\n"
        "DAG(BaseHook.get_connection('c').host)\nDAG(Variable.get('w', 'default'))\n"
    )

    assert loaded(tmp_path, text) == ["d1", "d2", "there", "default"]


def test_so_does_a_module_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "names_of_dags.py").write_text(f"{IMPORTS}NAME = 'd' + Variable.get('v')[1]\n")

    assert loaded(tmp_path, "from names_of_dags import NAME\nDAG(NAME)\n") == ["d1"]


def test_each_name_is_asked_for_once_and_told(tmp_path: Path) -> None:
    asked = source()
    secrets = FileSecrets(asked)

    loaded(
        tmp_path,
        "[Variable.get('v'), Variable.get('v'), Variable.get('w', None), Variable.get('w', 1)]\n"
        "[BaseHook.get_connection('c') for _ in range(2)]\n",
        secrets,
    )

    assert asked.asked == ["v", "w", "c"]
    assert secrets.names == ("connection:c", "variable:v", "variable:w")


def test_what_is_refused_is_not_told_as_read(tmp_path: Path) -> None:
    secrets = FileSecrets(RefusedSecrets(lambda kind, name: f"no {kind} {name}"))

    with pytest.raises(RefusedException, match="no variable v"):
        loaded(tmp_path, "Variable.get('v', 'default')\n", secrets)
    with pytest.raises(RefusedException, match="no connection c"):
        loaded(tmp_path, "BaseHook.get_connection('c')\n", secrets)
    assert secrets.names == ()


def test_what_is_absent_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        AirflowNotFoundException, match="run `headway variables set`, or give a def"
    ):
        loaded(tmp_path, "Variable.get('w')\n")
    with pytest.raises(AirflowNotFoundException, match="run `headway connections add`"):
        loaded(tmp_path, "BaseHook.get_connection('d')\n")
    told = FileSecrets(source(), lambda kind, name: f"set {kind} {name}")
    with pytest.raises(AirflowNotFoundException, match="set variable w"):
        loaded(tmp_path, "Variable.get('w')\n", told)


def test_a_check_reads_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_VAR_MY_VAR", "from here")
    monkeypatch.setenv("HEADWAY_CONN_MY_CONN", "http://elsewhere")

    text = "DAG(Variable.get('my.var')[:4])\nDAG(BaseHook.get_connection('my-conn').host)\n"

    assert loaded(tmp_path, text, provided_secrets()) == ["from", "elsewhere"]


@pytest.mark.parametrize(
    ("call", "kind", "variable"),
    [
        ("Variable.get('my.var')", SecretKind.VARIABLE, "HEADWAY_VAR_MY_VAR"),
        ("BaseHook.get_connection('my.var')", SecretKind.CONNECTION, "HEADWAY_CONN_MY_VAR"),
    ],
)
def test_a_check_says_how_to_give_what_it_lacks(
    tmp_path: Path, call: str, kind: SecretKind, variable: str
) -> None:
    with pytest.raises(AirflowNotFoundException) as caught:
        loaded(tmp_path, f"{call}\n", provided_secrets())

    assert f"There is no {kind} 'my.var' here." in str(caught.value)
    assert f"`{variable}=… headway import-check FOLDER`" in str(caught.value)
