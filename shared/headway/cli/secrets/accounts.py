"""`headway accounts`: who may use the API, and what for."""

from typing import Annotated, Any

import typer

from headway.cli.input.values import Reason, Yes
from headway.cli.screen.output import Format, Output, as_row, tell
from headway.domain.accounts import AccountRole
from headway.domain.errors import RequestError

app = typer.Typer(
    help="Accounts of the API: list, create, set, link, disable, delete.", no_args_is_help=True
)

COLUMNS = ("name", "role", "bundles", "oidc_subject", "created_at", "disabled_at")

Bundles = Annotated[
    list[str] | None,
    typer.Option("--bundle", help="A bundle that it sees; several times for several; * is all."),
]
OfOidc = Annotated[str | None, typer.Option(help="The issuer of OIDC by which it signs in.")]
Subject = Annotated[str | None, typer.Option(help="Its subject at that issuer.")]


@app.command("list")
def list_accounts(output: Output = Format.TABLE) -> None:
    """List accounts with their roles and bundles. No password is shown."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import account_views
    from headway.domain.accounts import shown_bundles

    with transaction() as conn:
        found = account_views.accounts(conn)
    rows = ({**as_row(each), "bundles": shown_bundles(each.bundles)} for each in found)
    show(rows, COLUMNS, output)


@app.command()
def create(  # noqa: PLR0913, PLR0917 - each is an option
    name: str,
    role: Annotated[AccountRole, typer.Option(help="What it may do.")] = AccountRole.VIEWER,
    bundle: Bundles = None,
    oidc_issuer: OfOidc = None,
    oidc_subject: Subject = None,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Create an account. Its password is read from a hidden prompt or from stdin.

    With --oidc-issuer and --oidc-subject it has no password.
    """
    from headway.actions.accounts import change
    from headway.cli.secrets import secret_input
    from headway.domain.accounts import Account

    if (oidc_issuer is None) != (oidc_subject is None):
        raise RequestError("Give --oidc-issuer and --oidc-subject, or neither.")
    oidc = None if oidc_issuer is None or oidc_subject is None else (oidc_issuer, oidc_subject)
    password = secret_input.ask("Password") if oidc is None else None
    wanted = Account(name, role, None if bundle is None else tuple(bundle))
    account = _act(
        lambda conn: change.create_account(
            conn, wanted, _author(reason), password=password, oidc=oidc
        )
    )
    tell(f"The account {account.name} is created: {account.role}.", _row(account), output)


@app.command("set")
def set_account(  # noqa: PLR0913, PLR0917 - each is an option
    name: str,
    role: Annotated[AccountRole | None, typer.Option(help="What it may do.")] = None,
    bundle: Bundles = None,
    password: Annotated[bool, typer.Option("--password", help="Ask for a new password.")] = False,
    enable: Annotated[bool, typer.Option("--enable", help="Have it sign in again.")] = False,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Set the role, the bundles or the password of an account, or enable it again.

    The new password is read from a hidden prompt or from stdin.
    """
    from headway.actions.accounts import change
    from headway.cli.secrets import secret_input

    if role is None and bundle is None and not password and not enable:
        raise RequestError("Give --role, --bundle, --password or --enable.")
    typed = secret_input.ask("New password") if password else None
    author = _author(reason)

    def work(conn: Any) -> None:
        if role is not None or bundle is not None:
            change.set_account_access(conn, name, (role, bundle), author)
        if typed is not None:
            change.set_account_password(conn, name, typed, author)
        if enable:
            change.enable_account(conn, name, author)

    _act(work)
    tell(f"The account {name} is set.", {"name": name}, output)


@app.command()
def link(
    name: str,
    at: Annotated[
        str | None,
        typer.Option(help="Address of the API; default: the API of the `standalone` of this home."),
    ] = None,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a link that signs a browser in once, within five minutes, and show it."""
    from headway.actions.accounts import links
    from headway.cli.input.session import api_at

    address = (api_at() if at is None else at).rstrip("/")
    path = _act(lambda conn: links.create_link(conn, name, _author(reason)))
    tell(f"{address}{path}", {"name": name, "link": f"{address}{path}"}, output)


@app.command()
def disable(
    name: str, yes: Yes = False, reason: Reason = None, output: Output = Format.TABLE
) -> None:
    """Disable an account. Its sessions end, and its tokens are refused."""
    from headway.actions.accounts import change
    from headway.cli.input.acting import ask

    if not yes:
        ask(f"Disable the account {name}?")
    _act(lambda conn: change.disable_account(conn, name, _author(reason)))
    tell(f"The account {name} is disabled.", {"name": name}, output)


@app.command()
def delete(
    name: str, yes: Yes = False, reason: Reason = None, output: Output = Format.TABLE
) -> None:
    """Delete an account with its sessions and tokens."""
    from headway.actions.accounts import change
    from headway.cli.input.acting import ask

    if not yes:
        ask(f"Delete the account {name} with its tokens?")
    _act(lambda conn: change.delete_account(conn, name, _author(reason)))
    tell(f"The account {name} is deleted.", {"name": name}, output)


def _act(work: Any) -> Any:
    from headway.cli.input.acting import act
    from headway.cli.input.session import api_url

    return act(work, tell=(), url=api_url)


def _author(reason: str | None) -> Any:
    from headway.actions.change import Author
    from headway.cli.input.session import actor

    return Author(actor(), reason)


def _row(account: Any) -> dict[str, Any]:
    from headway.domain.accounts import shown_bundles

    return {**as_row(account), "bundles": shown_bundles(account.bundles)}
