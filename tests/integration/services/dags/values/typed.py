"""Values of many types that go from task to task."""

from datetime import UTC, datetime
from typing import Any

from booking.classes import Flight, Leg  # type: ignore[import-not-found]

from headway.sdk import DAG, task

with DAG("typed_values"):

    @task
    def book() -> Flight:
        return Flight((Leg("UA", datetime(2013, 1, 1, tzinfo=UTC)),))

    @task
    def carrier(flight: Flight) -> str:
        assert isinstance(flight, Flight)
        return f"{flight.legs[0].carrier} {flight.legs[0].departs:%Y}"

    @task
    def pairs() -> tuple[Any, ...]:
        return (("a", 1), {2: "b"}, frozenset([3]))

    @task
    def kind(item: Any, whole: Any) -> list[str]:
        return [repr(item), type(whole).__name__]

    @task
    def table() -> Any:
        import pandas as pd

        return pd.DataFrame({"n": [1, 2], "at": pd.to_datetime(["2013-01-01", "2013-01-02"])})

    @task
    def summed(frame: Any) -> Any:
        return {"n": frame["n"].sum(), "last": frame["at"].max()}

    @task
    def shown(found: Any, kinds: Any) -> list[Any]:
        return [repr(sorted(found)), type(found["n"]).__name__, str(found["last"]), kinds]

    @task
    def by_number() -> Any:
        return {1: ("a",), 2: ("b", "c")}

    @task
    def entry(pair: Any) -> str:
        return repr(pair)

    @task
    def entries(found: Any) -> list[str]:
        return list(found)

    entries(entry.expand(pair=by_number()))
    carrier(book())
    left = pairs()
    shown(summed(table()), kind.partial(whole=left).expand(item=left))
