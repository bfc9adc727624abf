"""Tasks that use what they are granted, let it slip in every way, and ask for more."""

import base64
import json
import os
import sys
from pathlib import Path

from headway.sdk import DAG, BaseHook, BashOperator, Variable, task


def hash_of(text: str | None) -> str:
    from hashlib import sha256

    return sha256((text or "").encode()).hexdigest()


def readable(file: Path) -> str:
    try:
        return file.read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


with DAG("granted"):

    @task
    def reads() -> dict[str, str]:
        """What has arrived, without saying it."""
        connection = BaseHook.get_connection("stored")
        return {
            "password": hash_of(connection.password),
            "token": hash_of(str(connection.extra["token"])),
            "environment": hash_of(BaseHook.get_connection("provided").password),
            "mounted": hash_of(Variable.get("mounted")),
            "variable": hash_of(Variable.get("stored")),
            "plain": Variable.get("plain"),
            "host": connection.host or "",
        }

    @task
    def slips() -> None:
        connection = BaseHook.get_connection("stored")
        password = connection.password or ""
        print("password", password)  # noqa: T201
        print("json", json.dumps({"password": password}))  # noqa: T201
        print("base64", base64.b64encode(password.encode()).decode())  # noqa: T201
        print("uri", connection.get_uri())  # noqa: T201
        print("object", connection)  # noqa: T201
        print("variable", Variable.get("stored"))  # noqa: T201
        print("plain", Variable.get("plain"))  # noqa: T201
        for letter in password:
            os.write(1, letter.encode())
        os.write(1, b" in pieces\n")
        print("error", password, file=sys.stderr)  # noqa: T201

    @task
    def raises() -> None:
        password = BaseHook.get_connection("stored").password
        raise ValueError(f"could not log in with {password}")

    @task
    def looks_around() -> list[list[str]]:
        """In what of which processes the secrets stand.  Here they are known backwards only."""
        wanted = [text[::-1] for text in Variable.get("backwards", deserialize_json=True)]
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            command = readable(process / "cmdline")
            for name, text in (("cmdline", command), ("environ", readable(process / "environ"))):
                if any(secret in text for secret in wanted):
                    found.append([name, command])
        return found

    reads()
    looks_around() >> [
        slips(),
        raises(),
        BashOperator(
            task_id="in_a_template",
            bash_command="echo given $PASSWORD; echo {{ conn.stored.host }} {{ var.value.plain }}",
            env={"PASSWORD": "{{ conn.stored.password }}"},
            append_env=True,
        ),
    ]

with DAG("stranger", default_args={"retries": 2}):

    @task
    def asks_for_a_connection() -> None:
        BaseHook.get_connection("stored")

    @task
    def asks_for_what_is_in_the_environment() -> None:
        BaseHook.get_connection("provided")

    @task
    def asks_for_a_variable() -> str:
        return str(Variable.get("stored", default="a default"))

    @task
    def asks_for_nothing() -> str:
        return str(Variable.get("nobody_has_set_it", default="a default"))

    asks_for_a_connection()
    asks_for_what_is_in_the_environment()
    asks_for_a_variable()
    asks_for_nothing()
