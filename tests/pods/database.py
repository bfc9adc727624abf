"""Postgres in a pod, with a certificate for the name that pods know it by."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

import psycopg2
from sqlalchemy.engine import URL
from tests.chart.certificates import Authority
from tests.chart.rendering import Object
from tests.pods.release import DATABASE_HOST

from headway.testing.containers.podman import Podman

ROLES: Final = ("owner", "scheduler", "parser", "worker", "user", "api", "readonly")
SUPERUSER: Final = "postgres"
_CERTIFICATES: Final = "/etc/postgres"
_OPTIONS: Final = {
    "ssl": "on",
    "ssl_cert_file": f"{_CERTIFICATES}/tls.crt",
    "ssl_key_file": f"{_CERTIFICATES}/tls.key",
    "max_connections": "200",
}
_PREPARE: Final = (
    "CREATE ROLE headway LOGIN CREATEROLE PASSWORD %(owner)s",
    "CREATE DATABASE headway OWNER headway ENCODING 'UTF8' TEMPLATE template0",
)
"""What docs/deploy/kubernetes.md has a superuser do first."""


def new_secrets(folder: Path) -> dict[str, Mapping[str, str]]:
    """Make the Secrets of a release: one for each role, keys, and those of Postgres."""
    authority = Authority.new(folder, "authority")
    certificate, key = authority.issue(folder, DATABASE_HOST)
    made: dict[str, Mapping[str, str]] = {
        f"headway-{role}": {"password": token_urlsafe()} for role in ROLES
    }
    made["postgres-ca"] = {"ca.crt": authority.certificate.read_text()}
    made["postgres"] = {
        "password": token_urlsafe(),
        "tls.crt": certificate.read_text(),
        "tls.key": key.read_text(),
    }
    return made


def template(podman: Podman, image: str) -> Object:
    """Return the pod of the server."""
    identity = ["--entrypoint=id", image, *("-u", "postgres")]
    account = int(podman("run", "--rm", *identity).stdout)
    options = [word for name, value in _OPTIONS.items() for word in ("-c", f"{name}={value}")]
    password = {"secretKeyRef": {"name": "postgres", "key": "password"}}
    container = {
        "name": "postgres",
        "image": image,
        "args": ["postgres", *options],
        "env": [
            {"name": "POSTGRES_USER", "value": SUPERUSER},
            {"name": "POSTGRES_PASSWORD", "valueFrom": password},
            {"name": "POSTGRES_DB", "value": "first"},
            {"name": "PGDATA", "value": "/var/lib/postgresql/data/server"},
        ],
        "volumeMounts": [
            {"name": "data", "mountPath": "/var/lib/postgresql/data"},
            {"name": "certificate", "mountPath": _CERTIFICATES, "readOnly": True},
        ],
    }
    secret = {"secretName": "postgres", "defaultMode": 0o640}
    spec = {
        "securityContext": {"runAsUser": account, "runAsGroup": account, "fsGroup": account},
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "certificate", "secret": secret}],
    }
    return {"metadata": {}, "spec": spec}


def url(address: str, login: str, password: str, database: str = "headway") -> str:
    """Return the address of a database of that server."""
    made = URL.create("postgresql+psycopg2", login, password, address, 5432, database)
    return made.render_as_string(hide_password=False)


def prepare(address: str, secrets: Mapping[str, Mapping[str, str]]) -> None:
    """Make the owner and the database."""
    own = url(address, SUPERUSER, secrets["postgres"]["password"], "first").replace("+psycopg2", "")
    with closing(psycopg2.connect(own)) as conn, conn.cursor() as cursor:
        conn.autocommit = True
        for statement in _PREPARE:
            cursor.execute(statement, {"owner": secrets["headway-owner"]["password"]})


def answers(address: str, secrets: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether the server takes logins."""
    own = url(address, SUPERUSER, secrets["postgres"]["password"], "first").replace("+psycopg2", "")
    try:
        psycopg2.connect(own, connect_timeout=2).close()
    except psycopg2.OperationalError:
        return False
    return True
