"""`headway secrets`: the keys that connections and variables are encrypted with."""

from typing import Annotated

import typer

from headway.domain.errors import SecretError

app = typer.Typer(
    help="Keys that encrypt connections and variables: create and rotate them.",
    no_args_is_help=True,
)


@app.command("new-key")
def new_key(
    key_id: Annotated[
        str | None, typer.Option("--id", help="The key's id; default: a random id.")
    ] = None,
    add: Annotated[
        bool,
        typer.Option(
            "--add", help="Write the key to the first line of the key file; do not print it."
        ),
    ] = False,
) -> None:
    """Print a new key as `id:key`, or write it to the key file in force."""
    from headway.runtime.secrets import keyring
    from headway.runtime.settings import secret_keys

    key = keyring.new_key(key_id)
    if not add:
        print(key.to_line())
        return
    file = secret_keys.keys_file()
    ring = secret_keys.keys().keys if file.exists() else ()
    if key.key_id in {each.key_id for each in ring}:
        raise SecretError(f"There is a key {key.key_id!r} in {file} already; choose another id.")
    secret_keys.write_keys(file, [key, *ring])
    print(f"The key {key.key_id} is the first in {file}; `headway secrets rotate` makes use of it.")


@app.command()
def rotate(
    batch: Annotated[int, typer.Option(min=1, help="Values that one transaction encrypts.")] = 100,
) -> None:
    """Encrypt all connections and variables with the first key. Tasks may continue."""
    from headway.actions.installation import secrets
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.runtime.settings.secret_keys import keys

    ring, after, total = keys(), ("", ""), 0
    while True:
        here = after
        count, after = act(
            lambda conn, here=here: secrets.rotate(conn, ring, here, batch, actor()),  # type: ignore[misc]
            tell=(),
        )
        if not count:
            break
        total += count
    print(f"{total} were encrypted anew; all have the key {ring.first}.")
