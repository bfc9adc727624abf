"""`headway pools`: how many tasks may run at a time, by pool."""

from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output, as_row, tell

app = typer.Typer(help="Pools: list, set and delete them.", no_args_is_help=True)

COLUMNS = ("name", "slots", "running", "queued", "scheduled", "free", "description")


@app.command("list")
def list_pools(output: Output = Format.TABLE) -> None:
    """List pools with their slots: running, queued, scheduled and free."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import pool_views

    with transaction() as conn:
        found = pool_views.pools(conn)
    show(({**as_row(pool), "free": pool.free} for pool in found), COLUMNS, output)


@app.command("set")
def set_pool(
    name: str,
    slots: int,
    description: Annotated[str, typer.Option(help="What the pool is used for.")] = "",
    include_deferred: Annotated[
        bool, typer.Option(help="Whether deferred tasks keep their slots.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Create a pool, or change the number of its slots."""
    from headway.actions.installation import pools
    from headway.cli.input.session import actor, transaction

    with transaction(changes=True) as conn:
        pools.set_pool(conn, name, slots, description, actor(), include_deferred=include_deferred)
    row = {"name": name, "slots": slots, "include_deferred": include_deferred}
    count = "1 slot" if slots == 1 else f"{slots} slots"
    tell(f"The pool {name} has {count}.", row, output)


@app.command()
def delete(name: str, output: Output = Format.TABLE) -> None:
    """Delete a pool. Tasks that name the pool wait until it exists again."""
    from headway.actions.installation import pools
    from headway.cli.input.session import actor, transaction

    with transaction(changes=True) as conn:
        pools.delete_pool(conn, name, actor())
    tell(f"The pool {name} is deleted.", {"name": name}, output)
