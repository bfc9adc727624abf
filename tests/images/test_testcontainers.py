"""The database of the tests in a container, by podman's socket in place of a Docker engine's."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.containers.images import postgres_image
from headway.testing.containers.podman import Podman
from headway.testing.time.clock import until

OFFICIAL = "docker.io/library/postgres:18"
"""What the fixture asks for: here it is a name of the image that the test has built."""

PROGRAM = """
import sys
from contextlib import closing
from pathlib import Path
import psycopg2
from headway.testing.database.postgres import throwaway_postgres

with throwaway_postgres(None, Path(sys.argv[1])) as server:
    url = server.create_database("mine").replace("+psycopg2", "")
    with closing(psycopg2.connect(url)) as conn, conn.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('fsync')")
        print(*cursor.fetchone())
    server.drop_database("mine")
"""


@pytest.fixture
def engine_of_podman(podman: Podman, tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """Variables by which testcontainers finds podman."""
    socket = tmp_path / "podman.sock"
    command = ["podman", "system", "service", "--time=0", f"unix://{socket}"]
    with subprocess.Popen(dies_with_parent(command), env=dict(podman.environment)) as service:
        until(socket.exists, "the socket of podman")
        yield {
            "DOCKER_HOST": f"unix://{socket}",
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",  # also where this is a container
            "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image cannot be built here
        }
        service.terminate()


def test_the_fixture_starts_its_server_in_a_container(
    podman: Podman, engine_of_podman: Mapping[str, str], tmp_path: Path
) -> None:
    podman("tag", postgres_image(podman), OFFICIAL)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "embedded")],
        env={**podman.environment, **engine_of_podman},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("15.")  # no embedded server: that has another version
    assert done.stdout.split()[-1] == "off"
    assert not (tmp_path / "embedded").exists()
    assert podman("ps", "--quiet", "--filter", f"ancestor={OFFICIAL}").stdout == ""
