"""What users do to connections as to variables, each in one transaction; modules load when used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headway.domain.variable import EVERY_DAG, SecretKind, bundle_of

if TYPE_CHECKING:
    from headway.cli.screen.output import Format
    from headway.domain.variable import Secret


COLUMNS = ("name", "type", "description", "key_id", "changed_at", "dags", "bundles")


def show_all(kind: SecretKind, output: "Format") -> None:
    """List all of them with the DAGs and bundles that may read them; nothing secret is shown."""
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
    from headway.db.core.notices import PARSER
    from headway.runtime.settings.secret_keys import keys

    def work(conn: Any) -> None:
        ring = keys()
        for secret, description in found:
            secrets.store(conn, secret, ring, actor(), description, replace=replace)

    act(work, tell=(PARSER,))


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
    from headway.db.core.notices import PARSER

    if not yes:
        ask(f"Delete the {kind} {name} and its grants?")
    act(lambda conn: secrets.delete(conn, kind, name, actor()), tell=(PARSER,))
    print(f"The {kind} {name} is deleted.")


def grant(kind: SecretKind, name: str, grantees: Sequence[str]) -> None:
    """Let these DAGs read it, or every one, or the files of bundles, and say so."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.db.core.notices import PARSER

    act(lambda conn: secrets.grant(conn, kind, name, grantees, actor()), tell=(PARSER,))
    print(f"The {kind} {name} is granted to {_named(grantees)}.")


def revoke(kind: SecretKind, name: str, grantees: Sequence[str]) -> None:
    """Take the grants of these DAGs back, or the one of all, or of bundles, and say so."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.db.core.notices import PARSER

    act(lambda conn: secrets.revoke(conn, kind, name, grantees, actor()), tell=(PARSER,))
    print(f"The grant is taken back from {_named(grantees)}.")


def _named(grantees: "Sequence[str]") -> str:
    """Return whom grants are for, in words."""
    if EVERY_DAG in grantees:
        grantees = ["every DAG", *(each for each in grantees if each != EVERY_DAG)]
    bundles = ((each, bundle_of(each)) for each in grantees)
    return ", ".join(each if its is None else f"the files of bundle {its}" for each, its in bundles)
