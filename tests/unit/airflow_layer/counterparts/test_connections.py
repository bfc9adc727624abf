"""Connections and hooks as provider packages use them."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headway.airflow_layer.counterparts import configuration, installed_providers
from headway.airflow_layer.counterparts.connections import LayerConnection
from headway.airflow_layer.counterparts.exceptions import AirflowConfigException
from headway.airflow_layer.counterparts.hooks import LayerHook, LayerVariable
from headway.domain.connection import Connection
from headway.sdk.authoring.current import DagFile, collect
from headway.sdk.exceptions import AirflowException, RefusedException
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.file_secrets import FileSecrets, RefusedSecrets, SecretSource
from headway.sdk.running.task_runtime import LocalRuntime
from headway.testing.data.file_source import FileSource

SHOP = Connection(
    conn_id="shop", conn_type="my_kind", host="h", password="secret-1", extra={"a": '{"b": 1}'}
)
HOOKS = """
class Hook:
    conn_name_attr = "kind_conn_id"
    def __init__(self, kind_conn_id, more=None):
        self.given = (kind_conn_id, more)

def info():
    return {
        "package-name": "apache-airflow-providers-kind",
        "connection-types": [
            {"connection-type": "my-kind", "hook-class-name": "kind_hooks.Hook"}
        ],
        "dialects": [{"dialect-type": "kind", "dialect-class-name": "kind_hooks.Dialect"}],
        "config": {"kind": {"options": {"idle": {"default": "120"}, "none": {"default": None}}}},
    }
"""


@pytest.fixture
def _installed(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "kind_hooks.py").write_text(HOOKS)
    info = tmp_path / "kind-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kind\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[apache_airflow_provider]\nkind = kind_hooks:info\n")
    sys.path.insert(0, str(tmp_path))
    installed_providers.forget()
    yield
    installed_providers.forget()
    sys.path.remove(str(tmp_path))


@pytest.fixture
def _task() -> Iterator[None]:
    class Runtime(LocalRuntime):
        def get_connection(self, conn_id: str) -> Connection | None:
            return SHOP if conn_id == "shop" else None

        def get_variable(self, key: str) -> str | None:
            return '{"x": 1}' if key == "known" else None

    with running_in(Context({}, Runtime("t", {}))):
        yield


def test_extra_is_text_and_fields_can_be_set() -> None:
    made = LayerConnection.of(SHOP)

    made.host = "other"
    assert made.extra == made.get_extra() == '{"a": "{\\"b\\": 1}"}'
    assert made.extra_dejson == {"a": '{"b": 1}'}
    assert made.get_extra_dejson(nested=True) == {"a": {"b": 1}}
    assert made.get_password() == "secret-1"
    assert made.get_uri() == "my-kind://:secret-1@other/?a=%7B%22b%22%3A+1%7D"
    assert "secret-1" not in f"{made!r} {made}"
    assert made.to_dict(prune_empty=True).keys() == {
        "conn_id",
        "conn_type",
        "host",
        "password",
        "extra",
    }


def test_a_connection_is_made_of_fields_a_uri_or_json() -> None:
    uri = LayerConnection("c", uri="http://me:pw@h:80/s?x=1")

    assert (uri.conn_type, uri.login, uri.port, uri.schema) == ("http", "me", 80, "s")
    assert uri.extra_dejson == {"x": "1"}
    assert LayerConnection.from_uri("ssh://h", "c").host == "h"
    assert LayerConnection.from_json(uri.as_json(), "c").get_uri() == uri.get_uri()
    assert LayerConnection("c", "http", extra=None).extra_dejson == {}
    with pytest.raises(AirflowException, match="extra is not a JSON object"):
        _ = LayerConnection("c", extra="[1]").extra_dejson
    with pytest.raises(AirflowException, match="a uri, or the fields"):
        LayerConnection("c", "http", uri="http://h")
    with pytest.raises(TypeError, match="no argument 'hots'"):
        LayerConnection("c", hots="h")


@pytest.mark.usefixtures("_task", "_installed")
def test_the_hook_of_a_connection_is_that_of_its_type() -> None:
    class Mine(LayerHook):
        pass

    assert Mine.get_connection("shop").get_hook().given == ("shop", None)
    assert Mine.get_hook("shop", {"more": 2}).given == ("shop", 2)
    assert asyncio.run(Mine.aget_connection("shop")).host == "h"
    assert LayerConnection.get("shop").conn_id == "shop"
    with pytest.raises(AirflowException, match="type 'mongo', and no provider package"):
        LayerConnection("m", "mongo").get_hook()


@pytest.mark.usefixtures("_installed")
def test_providers_are_found_by_what_they_say_of_themselves() -> None:
    manager = installed_providers.ProvidersManager()

    assert manager.providers["apache-airflow-providers-kind"].version == "1.2"
    assert manager.hooks["my-kind"].package_name == "apache-airflow-providers-kind"
    assert manager.dialects["kind"].dialect_class_name == "kind_hooks.Dialect"


@pytest.mark.usefixtures("_installed")
def test_an_option_of_a_package_has_the_default_that_the_package_says() -> None:
    assert configuration.conf.getint("kind", "idle") == 120
    assert configuration.conf.getint("kind", "idle", fallback=3) == 3
    with pytest.raises(AirflowConfigException, match=r"no option \[kind\] none"):
        configuration.conf.get("kind", "none")


def test_a_hook_has_the_logger_of_its_class_or_of_its_name() -> None:
    class Plain(LayerHook):
        def __init__(self) -> None:
            """Leave out the constructor of the base."""

    assert Plain().log.name.endswith("Plain")
    assert LayerHook("mine").log is logging.getLogger("mine")
    assert LayerHook.get_ui_field_behaviour() == LayerHook.get_connection_form_widgets() == {}


@pytest.mark.usefixtures("_task")
def test_a_variable_takes_the_default_of_airflow_2_as_well() -> None:
    assert LayerVariable.get("known") == '{"x": 1}'
    assert LayerVariable.get("known", None, True) == {"x": 1}
    assert LayerVariable.get("unknown", default_var=3) == LayerVariable.get("unknown", 3) == 3
    assert LayerVariable.get("unknown", default_var=None) is None


def test_the_file_of_a_version_that_has_read_nothing_gets_the_default() -> None:
    """So former releases have made the version."""
    with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"))):
        assert LayerVariable.get("region", default_var="eu") == "eu"
        assert LayerVariable.get("region", None) is None
        with pytest.raises(RefusedException, match="while a DAG file is read"):
            LayerVariable.get("region")
        with pytest.raises(RefusedException, match="while a DAG file is read"):
            LayerHook.get_connection("shop")

    with pytest.raises(RefusedException, match="outside of a task"):
        LayerVariable.get("region", "eu")


def test_a_file_that_is_parsed_reads_by_its_grant_and_no_default_hides_that_there_is_none() -> None:
    def load(source: SecretSource) -> Any:
        secrets = FileSecrets(source)
        with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"), secrets=secrets)):
            found = LayerVariable.get("known", default_var="eu")
            return found, LayerVariable.get("unknown", "eu"), LayerHook.get_connection("shop").host

    assert load(FileSource({"known": "us"}, {"shop": "http://there"})) == ("us", "eu", "there")
    with pytest.raises(RefusedException, match="not granted the variable known"):
        load(RefusedSecrets(lambda kind, name: f"not granted the {kind} {name}"))


@pytest.mark.usefixtures("_task")
def test_a_task_gets_the_variable_though_its_file_is_open() -> None:
    with collect(DagFile("m", Path("/dags/a.py"), Path("/dags"))):
        assert LayerVariable.get("known", "eu") == '{"x": 1}'


@pytest.mark.parametrize("home", ["airflow.hooks.base", "airflow.sdk", "airflow.sdk.bases.hook"])
def test_the_layer_gives_this_hook(home: str) -> None:
    found: Any = import_module(home)

    assert found.BaseHook is LayerHook
