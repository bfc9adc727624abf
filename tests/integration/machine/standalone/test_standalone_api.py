"""The API of `headway standalone`: where it is, who may use it, and what a taken port does."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from headway.testing.processes.required import required_program
from headway.testing.services.machine import Command, Machine
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

WELL_KNOWN = 8793
IDLE_WITHIN = 30.0
PAGE = Path(__file__).parents[4] / "docs" / "api.md"


@contextmanager
def taken(port: int) -> Iterator[int]:
    """A port at which somebody listens, who may be another program of this machine."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
            other.listen()
        except OSError:
            assert port
        yield port or int(other.getsockname()[1])


def address_of(standalone: Command) -> str:
    found = standalone.until(
        lambda: re.search(r"^API: (http://127\.0\.0\.1:\d+) ", standalone.printed(), re.M),
        "its API",
    )
    return found[1]


def who_am_i(url: str, token: str) -> dict[str, Any]:
    asked = Request(f"{url}/auth/me", headers={"Authorization": f"Bearer {token}"})
    with urlopen(asked, timeout=PATIENCE) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def sign_in(url: str, secret: str) -> int:
    """Do what the page of a link does; return the status of the answer."""
    shown = json.dumps({"link": secret}).encode()
    site = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    try:
        with urlopen(Request(f"{url}/auth/session/link", shown, site), timeout=PATIENCE) as answer:
            assert "HttpOnly" in answer.headers["Set-Cookie"]
            return int(answer.status)
    except HTTPError as error:
        return error.code


def is_there(url: str) -> bool:
    with socket.socket() as some:
        return some.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


@dataclass(frozen=True)
class Running:
    """A `headway standalone` without DAGs, and where its API is."""

    machine: Machine
    standalone: Command
    url: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for the tests that only ask its API; it ends as it should."""
    machine = Machine.new(tmp_path_factory.mktemp("standalone") / "machine")
    dags = machine.root / "dags"
    dags.mkdir()
    with machine.standalone(dags) as (standalone, _engine):
        url = address_of(standalone)
        until(lambda: is_there(url), "the API")
        yield Running(machine, standalone, url)
    machine.wait_until_idle(IDLE_WITHIN)


def test_a_link_signs_a_browser_in_once(running: Running) -> None:
    """Standalone prints one link, and a command makes another one."""
    said = running.standalone.printed()
    [printed] = re.findall(r"^Sign in, once .*: (\S+)$", said, re.M)
    made = running.machine.run("accounts", "link", "admin").stdout.strip()

    for link in (printed, made):
        page, _, secret = link.partition("#")
        assert page == f"{running.url}/auth/link"
        assert "session/link" in urlopen(page, timeout=PATIENCE).read().decode()
        assert sign_in(running.url, secret) == 200
        assert sign_in(running.url, secret) == 401


def test_the_first_requests_of_the_page_are_answered(running: Running) -> None:
    """The commands of docs/api.md are carried out."""
    curl = Path(required_program("curl", "curl"))
    [script] = re.findall(r"^## First requests.*?```sh\n(.*?)```", PAGE.read_text(), re.M | re.S)
    own = running.machine.environment
    path = os.pathsep.join([str(Path(sys.executable).parent), str(curl.parent), own["PATH"]])
    wait = f"curl --silent --output /dev/null --retry 20 --retry-connrefused {running.url}"
    done = subprocess.run(
        ["bash", "-euc", f"{wait}\n{script}"],
        env={**own, "PATH": path, "api": running.url},
        cwd=running.machine.root,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert script.count("curl") >= 3
    assert '"name":"admin"' in done.stdout.replace(" ", "")


def test_a_token_of_the_account_that_is_there_from_the_start_opens_the_api(
    running: Running,
) -> None:
    created = running.machine.run("tokens", "create", "admin", "ci")

    assert who_am_i(running.url, created.stdout.strip())["role"] == "admin"


def test_it_ends_without_a_word_and_leaves_no_address(running: Running) -> None:
    """The last test that needs it."""
    assert running.standalone.end(SIGINT) == 0
    assert running.standalone.complained() == ""

    left = {path.name for path in running.machine.home.iterdir()}
    assert not {"database-url", "api-database-url", "api-address"} & left


@pytest.mark.long
def test_the_first_account_is_made_once(machine: Machine, dags: Path) -> None:
    with machine.standalone(dags):
        machine.run("accounts", "create", "ann", "--role", "admin", stdin="correct horse battery")
        machine.run("accounts", "delete", "admin", "--yes")
    with machine.standalone(dags):
        found = json.loads(machine.run("accounts", "list", "-o", "json").stdout)

    assert [account["name"] for account in found] == ["ann"]


@pytest.mark.long
def test_where_the_usual_port_is_taken_the_api_has_another_one(
    machine: Machine, dags: Path
) -> None:
    with taken(WELL_KNOWN), machine.standalone(dags) as (standalone, _engine):
        url = address_of(standalone)

        assert not url.endswith(f":{WELL_KNOWN}")
        until(lambda: is_there(url), "the API")


def test_a_port_that_was_set_and_is_taken_is_refused(machine: Machine, dags: Path) -> None:
    with taken(0) as port:
        said = machine.refusal("standalone", given={"HEADWAY_API_PORT": str(port)})

    assert said.startswith(f"HEADWAY_API_PORT is {port}, and the API cannot listen there")
    assert machine.processes() == {}
