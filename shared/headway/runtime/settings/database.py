"""The settings of the database, and the passwords of its roles for `headway db migrate` alone."""

from pydantic import Field, SecretStr

from headway.runtime.settings.configuration import Settings


class DatabaseSettings(Settings):
    """Where the state is kept."""

    section = "database"
    secret = True

    url: str | None = Field(None, description="`postgresql://user:password@host:port/name`.")
    user_url: str | None = Field(
        None,
        description="The database's address for commands of users, with the login "
        "`headway_user`. Set it where HEADWAY_DATABASE_URL has the login of a "
        "service. Default: the value of HEADWAY_DATABASE_URL.",
    )
    user_password: SecretStr | None = Field(
        None,
        description="The password for HEADWAY_DATABASE_USER_URL, if that address has none.",
    )
    api_url: str | None = Field(
        None,
        description="The database's address for the API and for commands of accounts and tokens, "
        "with the login `headway_api`. Default: the value of HEADWAY_DATABASE_USER_URL.",
    )
    api_password: SecretStr | None = Field(
        None,
        description="The password for HEADWAY_DATABASE_API_URL, if that address has none.",
    )
    readonly_url: str | None = Field(
        None,
        description="The database's address for reads of the API, with the login "
        "`headway_readonly`, which may not write. Without it, the API reads with its own login, "
        "in read-only transactions.",
    )
    readonly_password: SecretStr | None = Field(
        None,
        description="The password for HEADWAY_DATABASE_READONLY_URL, if that address has none.",
    )
    pooler: bool = Field(
        False,
        description="Whether these addresses belong to a pooler in transaction mode, "
        "such as PgBouncer.",
    )
    listen_url: str | None = Field(
        None,
        description="The database's own address, only for LISTEN, if the addresses "
        "above belong to a pooler. Each service opens one connection there, with the "
        "same login. Without it, services behind a pooler get no notices.",
    )
    notify: bool = Field(
        True,
        description="Whether processes wake each other by NOTIFY; behind a pooler only "
        "with HEADWAY_DATABASE_LISTEN_URL. Otherwise they poll for work.",
    )

    @property
    def wakes(self) -> bool:
        """Whether notices are sent and listened for."""
        return self.notify and (not self.pooler or bool(self.listen_url))


class RoleSettings(Settings):
    """What `headway db migrate` sets; a role without one keeps the password that it has."""

    section = "roles"

    parser_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_parser."
    )
    scheduler_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_scheduler."
    )
    worker_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_worker."
    )
    user_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_user."
    )
    api_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_api."
    )
    readonly_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_readonly."
    )
