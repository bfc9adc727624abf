"""What the services of one machine are started with."""

from headway.cli.launch.api_address import ApiAddress
from headway.cli.launch.stack import _programs
from headway.db.access.logins import Login

GIVEN = {
    "PATH": "/bin",
    "HEADWAY_CONN_PROVIDED": "http://me:secret@host",
    "HEADWAY_VAR_PROVIDED": "secret",
    "HEADWAY_SECRETS_KEYS": "id:secret",
}
URLS = {login: f"postgresql://{login}@host/name" for login in Login}


API = ApiAddress("127.0.0.1", 4711)


def environments(api: ApiAddress | None = None) -> dict[str, dict[str, str]]:
    programs = _programs(GIVEN, URLS, schedulers=2, api=api)
    return {program.name: dict(program.environment) for program in programs}


def test_each_service_logs_in_as_what_it_is() -> None:
    urls = {name: given["HEADWAY_DATABASE_URL"] for name, given in environments().items()}

    assert urls == {
        "parser": URLS[Login.PARSER],
        "scheduler-1": URLS[Login.SCHEDULER],
        "scheduler-2": URLS[Login.SCHEDULER],
        "worker": URLS[Login.WORKER],
    }


def test_the_worker_alone_is_given_keys_connections_and_variables() -> None:
    found = environments()

    assert found["worker"].keys() == {*GIVEN, "HEADWAY_DATABASE_URL"}
    for name in ("parser", "scheduler-1", "scheduler-2"):
        assert found[name].keys() == {"PATH", "HEADWAY_DATABASE_URL"}
        assert "secret" not in str(found[name])


def test_the_api_has_keys_and_two_logins_and_no_connection_or_variable() -> None:
    found = environments(API)

    assert found["api"] == {
        "PATH": "/bin",
        "HEADWAY_SECRETS_KEYS": "id:secret",
        "HEADWAY_DATABASE_URL": URLS[Login.API],
        "HEADWAY_DATABASE_READONLY_URL": URLS[Login.READONLY],
        "HEADWAY_DATABASE_READONLY_PASSWORD": "",
        "HEADWAY_API_PORT": "4711",
    }


def test_without_an_address_there_is_no_api() -> None:
    assert "api" not in environments()
