"""Connections as Airflow's clients know them, without what may be secret."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from headway.db.reads.secret_views import SecretView
from headway_api.airflow.secrets.hidden import HIDDEN


class ConnectionResponse(BaseModel):
    """A connection by its id and its type.

    All else is encrypted: `host`, `login`, `password`, `schema` and `extra` always say that they
    are hidden, whether they are set or not; `port` is always null.
    """

    connection_id: str
    conn_type: str
    description: str | None
    host: str = HIDDEN
    login: str = HIDDEN
    schema_: str = Field(default=HIDDEN, serialization_alias="schema")
    port: None = None
    password: str = HIDDEN
    extra: str = HIDDEN
    team_name: None = None

    @classmethod
    def of(cls, row: SecretView) -> Self:
        """Return the connection as it is shown."""
        return cls(connection_id=row.name, conn_type=row.type or "", description=row.description)


class ConnectionCollectionResponse(BaseModel):
    """Some of the connections."""

    connections: list[ConnectionResponse]
    total_entries: int


class ConnectionBody(BaseModel):
    """A connection to store; `extra` is text that holds a JSON object.  There are no teams."""

    model_config = ConfigDict(extra="forbid")

    connection_id: str = Field(max_length=200)
    conn_type: str
    description: str | None = None
    host: str | None = None
    login: str | None = None
    schema_: str | None = Field(None, alias="schema")
    port: int | None = None
    password: str | None = Field(None, repr=False)
    extra: str | None = Field(None, repr=False)
    team_name: None = None
