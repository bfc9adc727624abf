"""What the modules of provider packages are given, and DAG files are not."""

import logging
import os
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from headway import sdk
from headway.airflow_layer.counterparts import masking, processes
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.names import provider_bases
from headway.airflow_layer.names.table import provider_names_of
from headway.airflow_layer.tolerance.metadata_database import DatabaseStandIn
from headway.sdk.exceptions import AirflowException, AirflowTaskTimeout

NAMES = [(module, name) for module, names in provider_bases.MODULES.items() for name in names]
PROVIDER = {"__name__": "airflow.providers.kind.operators.kind"}


def as_provider(statement: str) -> dict[str, object]:
    given: dict[str, object] = dict(PROVIDER)
    exec(statement, given)
    return given


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_provider_is_given_every_name(module: str, name: str) -> None:
    assert as_provider(f"from {module} import {name}")[name] is not None
    assert provider_names_of(module)[name]


def test_a_dag_file_is_not_given_them_after_a_provider_was() -> None:
    as_provider("from airflow.triggers.base import BaseTrigger")

    with pytest.raises(AirflowGapError, match="no deferrable operators"):
        exec("from airflow.triggers.base import BaseTrigger", {"__name__": "a_dag_file"})


@pytest.mark.parametrize("first", ["a_dag_file", PROVIDER["__name__"]])
def test_a_provider_and_a_dag_file_are_given_their_own_xcom(first: str) -> None:
    exec("from airflow.models.xcom import XCom", {"__name__": first})
    own: dict[str, object] = {"__name__": "a_dag_file"}
    exec("from airflow.models.xcom import XCom", own)

    assert isinstance(own["XCom"], DatabaseStandIn)
    given = as_provider("from airflow.models.xcom import XCom")["XCom"]
    assert not isinstance(given, DatabaseStandIn)


def test_sensors_and_triggers_load_and_cannot_be_made() -> None:
    made = as_provider(
        "from abc import ABC\n"
        "from airflow.sensors.base import BaseSensorOperator\n"
        "from airflow.triggers.base import BaseTrigger\n"
        "class Sensor(BaseSensorOperator, ABC): ...\n"
        "class Trigger(BaseTrigger): ...\n"
    )
    calls = {"Sensor(task_id='s')": "sensors", "Sensor.partial(task_id='s')": "sensors"}

    for call, gap in (calls | {"Trigger()": "deferral"}).items():
        with pytest.raises(AirflowGapError, match="Headway has no") as raised:
            exec(call, made)
        assert raised.value.gap == gap


def test_an_operator_that_would_defer_is_refused_when_it_is_made() -> None:
    made = as_provider(
        "from airflow.models import BaseOperator\n"
        "class Waits(BaseOperator):\n"
        "    def __init__(self, deferrable=False, **kwargs):\n"
        "        super().__init__(**kwargs)\n"
        "    def execute(self, context):\n"
        "        self.defer(trigger=None, method_name='x')\n"
    )
    for call in ("(task_id='w', deferrable=True)", ".partial(task_id='w', deferrable=True)"):
        with pytest.raises(AirflowGapError, match=r"Waits\(deferrable=True\): Headway has no"):
            exec(f"Waits{call}", made)
    exec("w = Waits(task_id='w', deferrable=False)", made)
    task = made["w"]
    assert isinstance(task, sdk.BaseOperator)
    with pytest.raises(AirflowGapError, match="no deferrable operators"):
        task.execute({})  # type: ignore[arg-type]


def test_what_cannot_be_done_says_so() -> None:
    made = as_provider(
        "from airflow.security.kerberos import renew_from_kt\n"
        "from airflow.models.taskinstance import clear_task_instances\n"
        "from airflow.sdk.lineage import get_hook_lineage_collector\n"
        "get_hook_lineage_collector().add_input_asset(uri='x')"
    )
    with pytest.raises(AirflowException, match="does not renew tickets of Kerberos"):
        exec("renew_from_kt('me', keytab='k')", made)
    with pytest.raises(AirflowGapError, match="no access to the database"):
        exec("clear_task_instances()", made)


def test_a_package_gets_modules_by_their_old_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a_package", "a_package.old"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    del sys.modules["a_package.old"]
    as_provider(
        "from airflow.utils.deprecation_tools import add_deprecated_classes\n"
        "moved = {'old': {'Old': 'collections.OrderedDict'}}\n"
        "add_deprecated_classes(moved, 'a_package', {}, 'a message')"
    )
    module = sys.modules["a_package.old"]

    assert module.Old is OrderedDict
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        module.Other  # noqa: B018


def test_an_operator_with_a_coroutine_runs_it_to_its_end() -> None:
    made = as_provider(
        "from functools import partial\n"
        "from airflow.sdk.bases.decorator import is_async_callable\n"
        "from airflow.sdk.bases.operator import BaseAsyncOperator\n"
        "class Asks(BaseAsyncOperator):\n"
        "    async def aexecute(self, context):\n"
        "        return context['ds']\n"
        "done = Asks(task_id='a').execute({'ds': '2024-01-05'})\n"
        "kinds = [is_async_callable(f) for f in (Asks.aexecute, partial(Asks.aexecute), Asks)]\n"
    )

    assert made["done"] == "2024-01-05"
    assert made["kinds"] == [True, True, False]


def test_a_principal_of_kerberos_has_the_name_of_the_host() -> None:
    made = as_provider(
        "from airflow.security.utils import get_components, replace_hostname_pattern as replaced\n"
        "parts = get_components('hive/_HOST@EXAMPLE.COM')\n"
        "found = [replaced(parts, 'Db.Example.Com'), replaced(parts), get_components(None)]"
    )

    here = f"hive/{socket.getfqdn().lower()}@EXAMPLE.COM"
    assert made["found"] == ["hive/db.example.com@EXAMPLE.COM", here, None]


def test_a_pod_stays_as_it_is() -> None:
    made = as_provider(
        "from airflow.settings import pod_mutation_hook\npod = {'a': 1}\npod_mutation_hook(pod)"
    )

    assert made["pod"] == {"a": 1}


@pytest.fixture
def _records_as_they_were() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)
    masking.forget()


@pytest.mark.usefixtures("_records_as_they_were")
def test_what_a_provider_hides_is_in_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    masking.mask_secret({"token": ["abcdef-token"], "short": "a"})

    logging.getLogger("x").warning("it is %s, a", "abcdef-token")

    assert caplog.messages == ["it is ***, a"]


def test_the_environment_is_as_it_was_after_the_block() -> None:
    os.environ.pop("OF_A_TEST", None)
    with processes.patch_environ({"OF_A_TEST": "1"}), processes.patch_environ({"OF_A_TEST": "2"}):
        assert os.environ["OF_A_TEST"] == "2"
    assert "OF_A_TEST" not in os.environ


def test_a_block_that_takes_too_long_is_ended() -> None:
    said = r"too slow after 0\.05 s"
    with pytest.raises(AirflowTaskTimeout, match=said), processes.timeout(0.05, "too slow"):
        time.sleep(5)
    with processes.timeout(60):
        pass


def test_the_layers_own_packages_stay_packages() -> None:
    assert import_module("airflow.sensors.base").__name__ == "airflow.sensors.base"
