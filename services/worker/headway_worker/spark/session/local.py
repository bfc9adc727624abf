"""Spark for a process that runs tasks itself, such as `headway dags test`."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.variable import SecretKind
from headway.embedded.java import find_java_home
from headway.runtime.secrets.scrub import scrubbed_environment
from headway.runtime.settings import configuration, worker
from headway.runtime.settings.secret_keys import provided_here
from headway_worker.spark.server.connect_server import ServerSettings
from headway_worker.spark.session.access import LocalSpark, local_spark


@contextmanager
def in_this_process(environment: Mapping[str, str]) -> Iterator[LocalSpark]:
    """Give embedded Spark to this process; its server starts when it is first asked for."""
    given = configuration.read(worker.WorkerSettings)
    seen = scrubbed_environment(environment)
    with tempfile.TemporaryDirectory(prefix="headway-spark-") as scratch:
        folder = Path(scratch)
        server = ServerSettings.of(given, find_java_home(None, seen, folder), folder, seen)
        with local_spark(server, _connection) as spark:
            yield spark


def _connection(conn_id: str) -> Connection | None:
    found = provided_here().find(SecretKind.CONNECTION, check_key("connection", conn_id))
    return found if isinstance(found, Connection) else None
