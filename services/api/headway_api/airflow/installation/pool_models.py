"""Pools as Airflow's clients know them."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from headway.db.reads.pool_views import PoolView


class PoolResponse(BaseModel):
    """A pool, with its slots and what takes them; `team_name` is always null."""

    name: str
    slots: int
    description: str
    include_deferred: bool
    occupied_slots: int
    running_slots: int
    queued_slots: int
    scheduled_slots: int
    open_slots: int
    deferred_slots: int
    team_name: None = None

    @classmethod
    def of(cls, pool: PoolView) -> Self:
        """Return the pool as it is shown."""
        return cls(
            name=pool.name,
            slots=pool.slots,
            description=pool.description,
            include_deferred=pool.include_deferred,
            occupied_slots=pool.slots - pool.free,
            running_slots=pool.running,
            queued_slots=pool.queued,
            scheduled_slots=pool.scheduled,
            open_slots=pool.free,
            deferred_slots=pool.deferred,
        )


class PoolCollectionResponse(BaseModel):
    """Some of the pools."""

    pools: list[PoolResponse]
    total_entries: int


class PoolBody(BaseModel):
    """A pool to create.  There are no teams, and no pools without a limit."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=256)
    slots: int = Field(ge=0, le=2**31 - 1)
    description: str | None = None
    include_deferred: bool = False
    team_name: None = None


class PoolPatchBody(BaseModel):
    """What to change of a pool.  `pool`, its name, cannot be changed."""

    model_config = ConfigDict(extra="forbid")

    pool: str | None = None
    slots: int | None = Field(None, ge=0, le=2**31 - 1)
    description: str | None = None
    include_deferred: bool | None = None
    team_name: None = None
