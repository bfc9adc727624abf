"""What users do to connections as to variables, each in one transaction; modules load when used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headway.domain.variable import EVERY_DAG, SecretKind

if TYPE_CHECKING:
    from headway.cli.screen.output import Format
    from headway.domain.variable import Secret


COLUMNS = ("name", "type", "description", "key_id", "changed_at", "dags")


def show_all(kind: SecretKind, output: "Format") -> None:
    """List all of them with the DAGs that may read them; nothing secret is shown."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import secret_views

    with transaction() as conn:
        rows = secret_views.secrets(conn, kind)
    show(rows, COLUMNS, output)


def store(found: "Sequence[tuple[Secret, str | None]]", *, replace: bool = True) -> None:
    """Store all of these, each with its description, or none."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.runtime.settings.secret_keys import keys

    def work(conn: Any) -> None:
        ring = keys()
        for secret, description in found:
            secrets.store(conn, secret, ring, actor(), description, replace=replace)

    act(work, tell=())


def read(kind: SecretKind, name: str, *, whole: bool) -> "Secret":
    """Return what is stored under that name; the journal tells of it if the `whole` is shown."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.runtime.settings.secret_keys import keys

    if whole:
        return act(lambda conn: secrets.show(conn, kind, name, keys, actor()), tell=())
    return act(lambda conn: secrets.look(conn, kind, name, keys), tell=())


def read_all(kind: SecretKind) -> "Sequence[Secret]":
    """Return all that is stored; the journal tells of it."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.runtime.settings.secret_keys import keys

    return act(lambda conn: secrets.export(conn, kind, keys, actor()), tell=())


def delete(kind: SecretKind, name: str, *, yes: bool) -> None:
    """Delete it with its grants, once the user agrees, and say so."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act, ask
    from headway.cli.input.session import actor

    if not yes:
        ask(f"Delete the {kind} {name} and its grants?")
    act(lambda conn: secrets.delete(conn, kind, name, actor()), tell=())
    print(f"The {kind} {name} is deleted.")


def grant(kind: SecretKind, name: str, dags: Sequence[str]) -> None:
    """Let these DAGs read it, or every one, and say so."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor

    act(lambda conn: secrets.grant(conn, kind, name, dags, actor()), tell=())
    whom = "every DAG" if EVERY_DAG in dags else ", ".join(dags)
    print(f"The {kind} {name} is granted to {whom}.")


def revoke(kind: SecretKind, name: str, dags: Sequence[str]) -> None:
    """Take the grants of these DAGs back, or the one of all, and say so."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor

    act(lambda conn: secrets.revoke(conn, kind, name, dags, actor()), tell=())
    whom = "all DAGs" if EVERY_DAG in dags else ", ".join(dags)
    print(f"The grant is taken back from {whom}.")
