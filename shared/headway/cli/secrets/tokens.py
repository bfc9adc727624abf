"""`headway tokens`: by what programs use the API."""

from typing import Annotated, Any

import typer

from headway.cli.input.values import Reason, parse_age
from headway.cli.screen.output import Format, Output, as_row, tell
from headway.domain.accounts import AccountRole

app = typer.Typer(help="Tokens of the API: list, create, revoke.", no_args_is_help=True)

COLUMNS = ("id", "account", "name", "role", "bundles", "expires_at", "last_used_at", "revoked_at")

OfAccount = Annotated[str | None, typer.Option("--account", help="Only tokens of this account.")]


@app.command("list")
def list_tokens(account: OfAccount = None, output: Output = Format.TABLE) -> None:
    """List tokens. What a program shows as its token is not stored, so it is not shown."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import account_views
    from headway.domain.accounts import account_name, shown_bundles

    with transaction() as conn:
        found = account_views.tokens(conn, None if account is None else account_name(account))
    rows = ({**as_row(each), "bundles": shown_bundles(each.bundles)} for each in found)
    show(rows, COLUMNS, output)


@app.command()
def create(  # noqa: PLR0913, PLR0917 - each is an option
    account: str,
    name: str,
    role: Annotated[
        AccountRole | None, typer.Option(help="What it may do; default: what the account may.")
    ] = None,
    bundle: Annotated[
        list[str] | None,
        typer.Option("--bundle", help="A bundle that it sees; several times for several."),
    ] = None,
    expires_in: Annotated[
        float | None,
        typer.Option(metavar="AGE", parser=parse_age, help="When it expires: 36h, 30d, 8w."),
    ] = None,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a token for a program, and show it once. It has no more than its account has."""
    from headway.actions.accounts import tokens
    from headway.actions.accounts.tokens import TokenRequest
    from headway.actions.change import Author
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor, api_url

    bundles = None if bundle is None else tuple(bundle)
    request = TokenRequest(account, name, role, bundles, expires_in)
    created = act(
        lambda conn: tokens.create_token(conn, request, Author(actor(), reason)),
        tell=(),
        url=api_url,
    )
    tell(created.secret, _row(created), output)


@app.command()
def revoke(token_id: int, reason: Reason = None, output: Output = Format.TABLE) -> None:
    """Revoke a token: requests with it are refused from now on."""
    from headway.actions.accounts import tokens
    from headway.actions.change import Author
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor, api_url

    act(
        lambda conn: tokens.revoke_token(conn, token_id, Author(actor(), reason)),
        tell=(),
        url=api_url,
    )
    tell(f"The token {token_id} is revoked.", {"id": token_id}, output)


def _row(created: Any) -> dict[str, Any]:
    from headway.domain.accounts import shown_bundles

    return {
        "id": created.id,
        "account": created.account.name,
        "name": created.name,
        "role": created.account.role,
        "bundles": shown_bundles(created.account.bundles),
        "token": created.secret,
    }
