import pytest

from headway.runtime.secrets.scrub import scrubbed_environment

HARMLESS = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "JAVA_HOME": "/opt/java",
    "PYTHONPATH": "/srv/dags",
    "SPARK_LOCAL_IP": "127.0.0.1",
}


def test_what_user_code_needs_passes() -> None:
    assert scrubbed_environment(HARMLESS) == HARMLESS


def test_what_is_not_known_does_not_pass() -> None:
    assert scrubbed_environment({"EDITOR": "vi", "PATHS": "/bin"}) == {}


@pytest.mark.parametrize(
    "name",
    [
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_SESSION_TOKEN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CLIENT_ID",
    ],
)
def test_what_a_worker_has_for_the_store_of_its_logs_does_not_pass(name: str) -> None:
    assert scrubbed_environment({name: "a"}) == {}


def test_the_user_names_more() -> None:
    environment = {"REGION": "north", "TEAM_NAME": "a", "TEAM_SIZE": "3", "REGIONS": "x"}

    kept = scrubbed_environment(environment, keep=["REGION", "TEAM_*"])

    assert sorted(kept) == ["REGION", "TEAM_NAME", "TEAM_SIZE"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADWAY_DATABASE_URL", "postgresql://db/headway"),
        ("HEADWAY_HOME", "/var/lib/headway"),
        ("PGPASSWORD", "x"),
        ("SPARK_CONNECT_AUTHENTICATE_TOKEN", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("STRIPE_API_KEY", "x"),
        ("spark_ssl_keyPassword", "x"),
        ("SPARK_JDBC", "jdbc:postgresql://scott:tiger@db/x"),
        ("SPARK_SUBMIT_OPTS", "-Djavax.net.ssl.keyStorePassword=x"),
        ("PYTHON_MIRROR", "https://:x@mirror/"),
    ],
)
def test_a_secret_never_passes_whoever_names_it(name: str, value: str) -> None:
    assert scrubbed_environment({name: value}, keep=[name, f"{name[:3]}*"]) == {}
