"""The settings of the database, which all services and most commands read."""

from pydantic import Field

from headway.runtime.configuration import Settings


class DatabaseSettings(Settings):
    """Where the state is kept."""

    section = "database"
    secret = True

    url: str | None = Field(None, description="`postgresql://user:password@host:port/name`.")
    pooler: bool = Field(
        False,
        description="Whether that address is of a pooler in transaction mode, such as PgBouncer.",
    )
    notify: bool = Field(
        True,
        description="Whether processes wake each other by NOTIFY; behind a pooler they never do. "
        "Without it they find work by looking for it.",
    )

    @property
    def wakes(self) -> bool:
        """Whether notices are sent and listened for."""
        return self.notify and not self.pooler
