"""The tables of some days, each a query over others.

They are SQL text, so that this module needs no Spark to be imported and a query
means the same to a classic session and to Spark Connect.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The local day of an instant, in a way that does not depend on the zone of the session.
LANDED: Final = """
    SELECT *,
           date_from_unix_date(CAST(
               unix_seconds(from_utc_timestamp(time_hour, 'America/New_York')) DIV 86400 AS INT
           )) AS date
      FROM {flights}
     WHERE time_hour >= :start AND time_hour < :end
"""

# The raw clock times (517, 2400, on a day that is not told) become instants.
CLEAN: Final = """
    WITH timed AS (
        SELECT *, timestampadd(MINUTE, minute, time_hour) AS scheduled FROM {flights}
    )
    SELECT date, carrier, flight, scheduled, time_hour, origin, dest, tailnum,
           CASE WHEN dep_time IS NULL THEN 'cancelled'
                WHEN arr_delay IS NULL THEN 'diverted'
                ELSE 'flown'
           END AS status,
           timestampadd(MINUTE, dep_delay, scheduled) AS departed,
           dep_delay, arr_delay, air_time, distance
      FROM timed
"""

# One weather station reports a wind of 1,048 mph once; 231 was the highest ever measured.
WITH_WEATHER: Final = """
    SELECT flights.date, flights.carrier, flights.flight, flights.scheduled,
           weather.origin IS NOT NULL AS with_weather,
           weather.temp, weather.precip, weather.visib,
           CASE WHEN weather.wind_speed <= 231 THEN weather.wind_speed END AS wind_speed
      FROM {flights} AS flights
      LEFT JOIN {weather} AS weather USING (origin, time_hour)
"""

WITH_PLANE: Final = """
    SELECT flights.date, flights.carrier, flights.flight, flights.scheduled,
           planes.tailnum IS NOT NULL AS with_plane,
           planes.manufacturer, planes.model, planes.year AS built, planes.seats
      FROM {flights} AS flights
      LEFT JOIN {planes} AS planes USING (tailnum)
"""

ENRICHED: Final = """
    SELECT *
      FROM {flights}
      JOIN {weather} USING (date, carrier, flight, scheduled)
      JOIN {planes} USING (date, carrier, flight, scheduled)
"""

BY_CARRIER: Final = """
    SELECT date, carrier, airlines.name,
           count(*) AS flights,
           count_if(status = 'cancelled') AS cancelled,
           count_if(status = 'diverted') AS diverted,
           avg(dep_delay) AS mean_dep_delay,
           avg(arr_delay) AS mean_arr_delay,
           coalesce(sum(seats) FILTER (WHERE status <> 'cancelled'), 0) AS known_seats
      FROM {flights}
      LEFT JOIN {airlines} AS airlines USING (carrier)
     GROUP BY date, carrier, airlines.name
"""

# Double entry: every flight is a departure of one airport and an arrival of another.
BY_AIRPORT: Final = """
    WITH entry AS (
        SELECT date, origin AS faa, 1 AS departures, 0 AS arrivals, status,
               dep_delay, CAST(NULL AS INT) AS arr_delay, precip
          FROM {flights}
         UNION ALL
        SELECT date, dest AS faa, 0 AS departures, 1 AS arrivals, status,
               CAST(NULL AS INT) AS dep_delay, arr_delay, NULL AS precip
          FROM {flights}
    )
    SELECT date, faa AS airport, airports.name,
           sum(departures) AS departures,
           sum(arrivals) AS arrivals,
           count_if(status = 'cancelled') AS cancelled,
           avg(dep_delay) AS mean_dep_delay,
           avg(arr_delay) AS mean_arr_delay,
           count_if(precip > 0) AS wet_departures
      FROM entry
      LEFT JOIN {airports} AS airports USING (faa)
     GROUP BY date, faa, airports.name
"""

TOTALS: Final = (
    "count_if(status = 'cancelled') AS cancelled",
    "count_if(status = 'diverted') AS diverted",
    "avg(dep_delay) AS mean_dep_delay",
    "avg(arr_delay) AS mean_arr_delay",
    "count_if(with_weather) AS with_weather",
    "count_if(with_plane) AS with_plane",
)


def land(flights: "DataFrame", start: datetime, end: datetime) -> "DataFrame":
    """Return the flights scheduled in the hours of `[start, end)`, and the `date` of each."""
    interval = {"start": start, "end": end}
    return flights.sparkSession.sql(LANDED, args=interval, flights=flights)


def clean(flights: "DataFrame") -> "DataFrame":
    """Return raw flights with instants instead of clock times, and with their status."""
    return flights.sparkSession.sql(CLEAN, flights=flights)


def join_weather(flights: "DataFrame", weather: "DataFrame") -> "DataFrame":
    """Return for each clean flight the weather at its origin in its scheduled hour, if known."""
    return flights.sparkSession.sql(WITH_WEATHER, flights=flights, weather=weather)


def join_planes(flights: "DataFrame", planes: "DataFrame") -> "DataFrame":
    """Return for each clean flight the plane with its tail number, if known."""
    return flights.sparkSession.sql(WITH_PLANE, flights=flights, planes=planes)


def enrich(flights: "DataFrame", weather: "DataFrame", planes: "DataFrame") -> "DataFrame":
    """Return the clean flights together with what both joins have found."""
    return flights.sparkSession.sql(ENRICHED, flights=flights, weather=weather, planes=planes)


def by_carrier(flights: "DataFrame", airlines: "DataFrame") -> "DataFrame":
    """Return delays, cancellations and known seats of each carrier, by day."""
    return flights.sparkSession.sql(BY_CARRIER, flights=flights, airlines=airlines)


def by_airport(flights: "DataFrame", airports: "DataFrame") -> "DataFrame":
    """Return delays and cancellations of each airport, as an origin and a destination, by day."""
    return flights.sparkSession.sql(BY_AIRPORT, flights=flights, airports=airports)
