"""SQL that tells which of many secrets are in force, those of tokens and of sessions at once."""

from collections.abc import Collection

from sqlalchemy import Connection, text

from headway.db.accounts.accounts import account_of
from headway.domain.accounts import Account, narrowed

# A session may do what its account may; a token has a role and bundles of its own.
IN_FORCE = text("""
    SELECT token.hash, its.name, its.role, its.bundles,
           token.role AS token_role, token.bundles AS token_bundles
      FROM api_token AS token
      JOIN api_account AS its ON its.name = token.account
     WHERE token.hash = ANY (CAST(:tokens AS bytea[]))
       AND token.revoked_at IS NULL
       AND (token.expires_at IS NULL OR token.expires_at > now())
       AND its.disabled_at IS NULL
     UNION ALL
    SELECT api_session.id_hash, its.name, its.role, its.bundles, NULL, NULL
      FROM api_session
      JOIN api_account AS its ON its.name = api_session.account
     WHERE api_session.id_hash = ANY (CAST(:sessions AS bytea[]))
       AND api_session.expires_at > now()
       AND api_session.seen_at > now() - make_interval(secs => :idle)
       AND its.disabled_at IS NULL
""")


def accounts(
    conn: Connection, tokens: Collection[bytes], sessions: Collection[bytes], idle: float
) -> dict[bytes, Account]:
    """Return what each of these may do, by the hash of its secret, without what has ended.

    A session that was not seen for `idle` seconds has ended.
    """
    asked = {"tokens": list(tokens), "sessions": list(sessions), "idle": idle}
    found = {}
    for row in conn.execute(IN_FORCE, asked):
        account = account_of(row.name, row.role, row.bundles)
        if row.token_role is not None:
            its = account_of(row.name, row.token_role, row.token_bundles)
            account = narrowed(account, its.role, its.bundles)
        found[bytes(row.hash)] = account
    return found
