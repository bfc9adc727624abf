"""How secrets get into a command: from a file, standard input or a prompt, never echoed."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headway.domain.dag.names import check_key
from headway.domain.errors import SecretError
from headway.domain.variable import EVERY_DAG, LARGEST_SECRET, check_grantee, to_bundle

STDIN: Final = "-"
LARGEST_IMPORT: Final = 64 * 2**20

From = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="Read the secret from this file; - is stdin."),
]
ShowSecrets = Annotated[
    bool, typer.Option("--show-secrets", help="Show secrets. The journal records it.")
]
Description = Annotated[str | None, typer.Option("--description", help="What it is used for.")]
Dags = Annotated[list[str] | None, typer.Argument(help="The ids of the DAGs.")]
Bundles = Annotated[
    list[str] | None,
    typer.Option(
        "--bundle",
        help="A bundle whose files may read it while they are parsed; several times for several.",
    ),
]
AllDags = Annotated[bool, typer.Option("--all-dags", help="Every DAG, including future DAGs.")]


def read(source: str, limit: int = LARGEST_SECRET) -> str:
    """Return what a file, or stdin, holds, without the end of its last line."""
    try:
        if source == STDIN:
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(source).open("rb") as opened:
                data = opened.read(limit + 1)
    except OSError as error:
        raise SecretError(f"{source} cannot be read: {error.strerror}.") from None
    if len(data) > limit:
        raise SecretError(f"{_named(source)} has more than {limit:,} bytes.")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise SecretError(f"{_named(source)} is no text in UTF-8.") from None


def ask(what: str) -> str:
    """Have the user type a secret, unseen; where nobody can be asked, take it from stdin."""
    if sys.stdin.isatty():
        answer: str = typer.prompt(what, hide_input=True)
        return answer
    return read(STDIN)


def read_object(source: str) -> dict[str, Any]:
    """Return the JSON object that a file, or stdin, holds."""
    try:
        found = json.loads(read(source, LARGEST_IMPORT))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise SecretError(f"{_named(source)} holds no JSON object of values by name.")
    return found


def tell_descriptions(given: Mapping[str, object]) -> None:
    """Say on stderr which of the imported values have a description, which is not kept."""
    from headway.cli.input.secret_exports import described

    if names := described(given):
        shown = ", ".join(sorted(names))
        print(f"Headway keeps no descriptions; these had one: {shown}.", file=sys.stderr)


def grantees(dags: list[str] | None, bundles: list[str] | None, *, every: bool) -> list[str]:
    """Return whom a grant is for."""
    if (every and dags) or not (every or dags or bundles):
        raise SecretError("Name the DAGs, or give --all-dags, or --bundle with a bundle's name.")
    named = [EVERY_DAG] if every else [check_key("DAG", dag_id) for dag_id in dags or ()]
    return [*named, *(check_grantee(to_bundle(bundle)) for bundle in bundles or ())]


def write(target: str, values: Mapping[str, object]) -> None:
    """Write an export to stdout, or to a new file that only this account may read."""
    text = json.dumps(dict(values), indent=2) + "\n"
    if target == STDIN:
        sys.stdout.write(text)
        return
    try:
        file = Path(target)
        file.touch(mode=0o600, exist_ok=False)
        file.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise SecretError(f"{target} is there already; an export makes a new file.") from None
    except OSError as error:
        raise SecretError(f"{target} cannot be written: {error.strerror}.") from None


def warn_if_short(*secrets: str | None) -> None:
    """Say on stderr that a secret is too short to be masked."""
    from headway.runtime.masking import SHORTEST_SECRET

    if any(secret and len(secret) < SHORTEST_SECRET for secret in secrets):
        print(
            f"Warning: a secret of fewer than {SHORTEST_SECRET} characters is not masked in logs.",
            file=sys.stderr,
        )


def _named(source: str) -> str:
    return "Standard input" if source == STDIN else source
