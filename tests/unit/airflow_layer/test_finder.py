"""`import airflow` gives Headway's counterparts, unless there is a real Airflow."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from headway import sdk
from headway.airflow_layer import finder, notes
from headway.airflow_layer.finder import LayerFinder
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.modules import LayerModule
from headway.runtime.settings.layer_use import LayerUse


def test_there_is_one_finder_however_often_it_is_installed() -> None:
    finder.install()

    assert sum(isinstance(found, LayerFinder) for found in sys.meta_path) == 1


def test_names_and_modules_are_reached_in_every_way() -> None:
    import_module("airflow.utils.dates")
    airflow = import_module("airflow")
    spelled: dict[str, object] = {}
    exec("from airflow.utils import dates, timezone\nimport airflow.models as m", spelled)

    assert isinstance(airflow, LayerModule)
    assert airflow.operators.bash.BashOperator.__name__ == "BashOperator"
    assert airflow.utils.dates is spelled["dates"]
    assert spelled["m"] is airflow.models
    assert airflow.__version__ == "3.3.2"


def test_a_name_has_one_counterpart_wherever_it_comes_from() -> None:
    homes = ("airflow.operators.bash", "airflow.operators.bash_operator", "airflow.operators")
    found = {import_module(home).BashOperator for home in homes}

    assert len(found) == 1
    assert issubclass(found.pop(), sdk.BashOperator)


def test_a_real_airflow_is_left_alone_and_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "__init__.py").write_text("DAG = 'real'\n")
    (tmp_path / "airflow" / "models.py").write_text("Variable = 'real'\n")
    sys.path.insert(0, str(tmp_path))

    assert import_module("airflow").DAG == "real"
    assert import_module("airflow.models").Variable == "real"
    assert "An Airflow is installed here" in notes.notes()[0]
    assert "HEADWAY_PARSER_AIRFLOW_LAYER" in notes.notes()[0]
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'airflow\.sdk'"):
        import_module("airflow.sdk")


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A real Airflow on the path, with a provider package."""
    http = tmp_path / "airflow" / "providers" / "http"
    http.mkdir(parents=True)
    (http / "hooks.py").write_text("from airflow.models import Variable\n")
    (tmp_path / "airflow" / "__init__.py").write_text("raise RuntimeError('was run')\n")
    (tmp_path / "airflow" / "models.py").write_text("raise RuntimeError('was run')\n")
    (tmp_path / "airflow" / "listeners.py").write_text("raise RuntimeError('was run')\n")
    sys.path.insert(0, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("real")
def test_a_real_airflow_is_hidden_where_the_layer_is_asked_for() -> None:
    finder.install(LayerUse.ALWAYS)

    assert import_module("airflow").DAG is not None
    assert issubclass(import_module("airflow.models").Variable, sdk.Variable)
    found = import_module("airflow.providers.http.hooks").Variable
    assert found is import_module("airflow.models").Variable
    with pytest.raises(AirflowGapError, match=r"airflow\.listeners: Headway has no plugins"):
        import_module("airflow.listeners")
    assert notes.notes() == []


@pytest.mark.usefixtures("real")
def test_without_the_layer_there_is_only_the_real_airflow() -> None:
    finder.install(LayerUse.ALWAYS)
    finder.install(LayerUse.NEVER)

    assert not any(isinstance(found, LayerFinder) for found in sys.meta_path)
    with pytest.raises(RuntimeError, match="was run"):
        import_module("airflow")
    assert notes.notes() == []


def test_without_the_layer_and_without_an_airflow_there_is_none() -> None:
    finder.install(LayerUse.NEVER)

    with pytest.raises(ModuleNotFoundError, match="No module named 'airflow'"):
        import_module("airflow.sdk")


def test_folders_of_providers_are_no_airflow_and_their_modules_are_found(tmp_path: Path) -> None:
    operators = tmp_path / "airflow" / "providers" / "http" / "operators"
    operators.mkdir(parents=True)
    (operators.parent / "__init__.py").write_text("")
    (operators / "__init__.py").write_text("")
    source = "from airflow.providers.common.compat.sdk import BaseOperator\n"
    (operators / "http.py").write_text(f"{source}class HttpOperator(BaseOperator): ...\n")
    sys.path.insert(0, str(tmp_path))

    made = import_module("airflow.providers.http.operators.http").HttpOperator

    assert issubclass(made, sdk.BaseOperator)
    assert isinstance(import_module("airflow"), LayerModule)


def test_a_module_that_works_as_it_is_comes_from_its_package(tmp_path: Path) -> None:
    compat = tmp_path / "airflow" / "providers" / "common" / "compat"
    compat.mkdir(parents=True)
    (compat / "__init__.py").write_text("")
    (compat / "sdk.py").write_text("DAG = 'installed'\n")
    sys.path.insert(0, str(tmp_path))

    assert import_module("airflow.providers.common.compat.sdk").DAG == "installed"


def test_a_counterpart_comes_before_an_installed_module(tmp_path: Path) -> None:
    operators = tmp_path / "airflow" / "providers" / "standard" / "operators"
    operators.mkdir(parents=True)
    for folder in (operators, operators.parent):
        (folder / "__init__.py").write_text("")
    (operators / "bash.py").write_text("BashOperator = 'installed'\n")
    sys.path.insert(0, str(tmp_path))

    made = import_module("airflow.providers.standard.operators.bash").BashOperator

    assert issubclass(made, sdk.BashOperator)


def test_other_modules_are_none_of_its_business() -> None:
    assert LayerFinder().find_spec("airflows") is None
    assert LayerFinder().find_spec("headway.airflow") is None
