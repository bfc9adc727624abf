"""Sign in somebody of whom an OpenID Connect provider has told."""

from dataclasses import dataclass

from sqlalchemy import Connection

from headway.actions.accounts.change import create_account, set_account_access
from headway.actions.accounts.sign_in import SignInRefused, find_subject
from headway.actions.change import Author
from headway.db.accounts import accounts
from headway.domain.accounts import Account, AccountRole, account_name


@dataclass(frozen=True, slots=True)
class OidcSubject:
    """A person as a provider tells of it; `role` is that of its groups, None if they have none.

    The issuer and the subject say who it is.  The name may change, and names a new account only.
    """

    issuer: str
    subject: str
    name: str
    role: AccountRole | None


def sign_in_subject(conn: Connection, person: OidcSubject) -> Account | SignInRefused:
    """Return the account of a subject with the role of its groups; it is created if need be.

    An account of the same name that is not this subject's is never taken: AlreadyExistsError.
    ConflictError if the only admin would no longer be one.
    """
    if person.role is None:
        return SignInRefused()
    actor = Author("oidc", f"by the groups that {person.issuer} tells of")
    known = accounts.find_subject(conn, person.issuer, person.subject)
    if known is None:
        wanted = Account(account_name(person.name), person.role)
        return create_account(conn, wanted, actor, oidc=(person.issuer, person.subject))
    if not known.disabled and known.account.role is not person.role:
        set_account_access(conn, known.account.name, (person.role, None), actor)
    return find_subject(conn, person.issuer, person.subject)
