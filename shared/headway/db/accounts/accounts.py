"""SQL on accounts.  Names are as `headway.domain.accounts.account_name` returns them."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, RowMapping, text

from headway.domain.accounts import Account, AccountRole

CREATE = text("""
    INSERT INTO api_account (name, password_hash, role, bundles, oidc_issuer, oidc_subject)
    VALUES (:name, :password_hash, :role, :bundles, :oidc_issuer, :oidc_subject)
        ON CONFLICT DO NOTHING
""")

LOCK = text("""
    SELECT name, role, bundles, disabled_at IS NOT NULL AS disabled, password_hash
      FROM api_account
     WHERE name = :name
       FOR NO KEY UPDATE
""")

# Two admins who disable each other wait here for one another, and the second one is refused.
LOCK_ADMINS = text("""
    SELECT name FROM api_account
     WHERE role = 'admin'
     ORDER BY name
       FOR NO KEY UPDATE
""")

OTHER_ADMINS = text("""
    SELECT count(*) FROM api_account
     WHERE role = 'admin' AND disabled_at IS NULL AND name <> :name
""")

FIND = text("""
    SELECT name, role, bundles, disabled_at IS NOT NULL AS disabled, password_hash
      FROM api_account
     WHERE name = :name
""")

FIND_SUBJECT = text("""
    SELECT name, role, bundles, disabled_at IS NOT NULL AS disabled, password_hash
      FROM api_account
     WHERE oidc_issuer = :issuer AND oidc_subject = :subject
""")

SET_ROLE = text("UPDATE api_account SET role = :role, bundles = :bundles WHERE name = :name")

SET_PASSWORD = text("UPDATE api_account SET password_hash = :password_hash WHERE name = :name")

DISABLE = text("""
    UPDATE api_account SET disabled_at = now() WHERE name = :name AND disabled_at IS NULL
""")

ENABLE = text("UPDATE api_account SET disabled_at = NULL WHERE name = :name")

DELETE = text("DELETE FROM api_account WHERE name = :name")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """An account to be stored; without a hash it signs in by OIDC alone."""

    account: Account
    password_hash: str | None = field(default=None, repr=False)
    oidc_issuer: str | None = None
    oidc_subject: str | None = None


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """An account, whether it is disabled, and the hash of its password, None if it has none."""

    account: Account
    disabled: bool
    password_hash: str | None = field(repr=False)


def create(conn: Connection, new: NewAccount) -> bool:
    """Store a new account; False if its name or its OIDC subject is taken."""
    parameters = {
        "name": new.account.name,
        "role": new.account.role,
        "bundles": _array(new.account.bundles),
        "password_hash": new.password_hash,
        "oidc_issuer": new.oidc_issuer,
        "oidc_subject": new.oidc_subject,
    }
    return conn.execute(CREATE, parameters).rowcount > 0


def lock(conn: Connection, name: str) -> StoredAccount | None:
    """Lock an account, and return it; None if there is none."""
    return _first(conn.execute(LOCK, {"name": name}).mappings().first())


def find(conn: Connection, name: str) -> StoredAccount | None:
    """Return an account; None if there is none."""
    return _first(conn.execute(FIND, {"name": name}).mappings().first())


def find_subject(conn: Connection, issuer: str, subject: str) -> StoredAccount | None:
    """Return the account of that subject of an OIDC provider; None if there is none."""
    parameters = {"issuer": issuer, "subject": subject}
    return _first(conn.execute(FIND_SUBJECT, parameters).mappings().first())


def lock_admins(conn: Connection) -> None:
    """Lock all admins, so that nobody else makes one of them less than that."""
    conn.execute(LOCK_ADMINS)


def has_other_admin(conn: Connection, name: str) -> bool:
    """Tell whether another admin than this is enabled; `lock_admins` comes before."""
    return bool(conn.scalar(OTHER_ADMINS, {"name": name}))


def set_role(conn: Connection, account: Account) -> None:
    """Give an account this role and these bundles."""
    bundles = _array(account.bundles)
    conn.execute(SET_ROLE, {"name": account.name, "role": account.role, "bundles": bundles})


def set_password(conn: Connection, name: str, password_hash: str) -> None:
    """Give an account another password."""
    conn.execute(SET_PASSWORD, {"name": name, "password_hash": password_hash})


def disable(conn: Connection, name: str) -> None:
    """Have an account sign in no more, and its sessions and tokens be refused."""
    conn.execute(DISABLE, {"name": name})


def enable(conn: Connection, name: str) -> None:
    """Have an account that was disabled sign in again."""
    conn.execute(ENABLE, {"name": name})


def delete(conn: Connection, name: str) -> None:
    """Delete an account with its sessions, tokens, links and stored answers."""
    conn.execute(DELETE, {"name": name})


def account_of(name: str, role: str, bundles: list[str] | None) -> Account:
    """Return the account of these columns."""
    return Account(name, AccountRole(role), None if bundles is None else tuple(bundles))


def _array(bundles: tuple[str, ...] | None) -> list[str] | None:
    return None if bundles is None else list(bundles)


def _first(row: RowMapping | None) -> StoredAccount | None:
    if row is None:
        return None
    account = account_of(row["name"], row["role"], row["bundles"])
    return StoredAccount(account, row["disabled"], row["password_hash"])
