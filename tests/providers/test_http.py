"""The HTTP provider against a local server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.providers.conftest import RunDag

SOURCE = """
import pendulum
from airflow import DAG
from airflow.hooks.base import BaseHook
from airflow.operators.python import PythonOperator
from airflow.providers.http.hooks.http import HttpHook
from airflow.providers.http.operators.http import HttpOperator

def again():
    hook = BaseHook.get_connection("web").get_hook()
    assert isinstance(hook, HttpHook), hook
    print("hook:", hook.run("ignored?by=hook").text)

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None):
    get = HttpOperator(
        task_id="get",
        http_conn_id="web",
        method="POST",
        endpoint="/day/{{ ds }}",
        data="{{ ds_nodash }}",
        response_filter=lambda response: response.json(),
        response_check=lambda response, ds: ds in response.text,
    )
    get >> PythonOperator(task_id="again", python_callable=again)
"""


class Echo(BaseHTTPRequestHandler):
    """Answer with what was asked for."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length).decode()
        answer = f'["{self.path}", "{body}", "{self.headers["x-of"]}"]'.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_an_operator_and_the_hook_of_a_connection_ask_a_server(
    run_dag: RunDag, server: ThreadingHTTPServer
) -> None:
    web = {
        "conn_type": "http",
        "host": "127.0.0.1",
        "port": server.server_port,
        "extra": {"x-of": "headway"},
    }

    said = run_dag(SOURCE, web=web)

    assert 'hook: ["/ignored?by=hook", "", "headway"]' in said


def test_a_failed_check_fails_the_task(run_dag: RunDag, server: ThreadingHTTPServer) -> None:
    source = SOURCE.replace("ds in response.text", "False")
    web = {"conn_type": "http", "host": "127.0.0.1", "port": server.server_port}

    said = run_dag(source, ends_well=False, web=web)

    assert "Response check returned False" in said


def test_an_operator_that_defers_is_refused_when_the_file_is_read(run_dag: RunDag) -> None:
    said = run_dag(SOURCE.replace('method="POST"', "deferrable=True"), ends_well=False)

    assert "HttpOperator(deferrable=True): Headway has no deferrable operators" in said


def test_a_sensor_is_refused_when_it_is_made(run_dag: RunDag) -> None:
    source = SOURCE.replace("operators.http", "sensors.http").replace("HttpOperator", "HttpSensor")

    said = run_dag(source, ends_well=False)

    assert "HttpSensor: Headway has no sensors yet" in said
