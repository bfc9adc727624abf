"""One day of flights out of New York: landed, checked, joined, aggregated and reported.

Each task overwrites exactly its own partition, the folder `<output>/<table>/day=<day>`, so
any of them may be retried or run again. `output` is a param: give another folder with
`--conf '{"output": "/data/flights"}'`.
"""

from dataclasses import asdict
from datetime import timedelta

import pendulum
from flights import checks, partitions, report, source, tables
from flights.paths import DayPaths

from headway.sdk import dag, task


@task.pyspark
def land(spark, params, data_interval_start, data_interval_end):
    """Copy the day's flights out of the source, unchanged."""
    paths = DayPaths.of(params, data_interval_start)
    year = source.read_flights(spark, paths.root)
    flights = tables.land(year, data_interval_start, data_interval_end)
    return partitions.overwrite(flights, paths.partition("landed"))


@task.pyspark
def clean_and_check(spark, params, data_interval_start, landed):
    """Turn clock times into instants; fail when a value is impossible or a row is missing."""
    paths = DayPaths.of(params, data_interval_start)
    raw = spark.read.parquet(landed["path"])
    checks.demand_none(checks.count_offences(raw, paths.day), paths.day)
    flights = partitions.overwrite(tables.clean(raw), paths.partition("flights"))
    checks.demand_equal("flights", {"landed": landed["rows"], "clean": flights["rows"]})
    return flights


@task.pyspark
def join_weather(spark, params, data_interval_start, flights):
    """Find the weather of each flight: at its origin, in its scheduled hour."""
    found = tables.join_weather(
        spark.read.parquet(flights["path"]), source.read_table(spark, "weather")
    )
    paths = DayPaths.of(params, data_interval_start)
    return partitions.overwrite(found, paths.partition("flight_weather"))


@task.pyspark
def join_planes(spark, params, data_interval_start, flights):
    """Find the plane of each flight by its tail number."""
    found = tables.join_planes(
        spark.read.parquet(flights["path"]), source.read_table(spark, "planes")
    )
    paths = DayPaths.of(params, data_interval_start)
    return partitions.overwrite(found, paths.partition("flight_plane"))


@task.pyspark
def enrich(spark, params, data_interval_start, flights, weather, planes):
    """Bring flights, weather and planes together; fail when a join lost or doubled a flight."""
    parts = {"clean": flights, "with weather": weather, "with planes": planes}
    paths = DayPaths.of(params, data_interval_start)
    whole = partitions.overwrite(
        tables.enrich(*(spark.read.parquet(part["path"]) for part in parts.values())),
        paths.partition("enriched"),
        *tables.TOTALS,
    )
    parts["enriched"] = whole
    checks.demand_equal("flights", {name: part["rows"] for name, part in parts.items()})
    return whole


@task.pyspark
def aggregate_by_carrier(spark, params, data_interval_start, enriched):
    """Count flights, cancellations and delays of each carrier."""
    carriers = tables.by_carrier(
        spark.read.parquet(enriched["path"]), source.read_table(spark, "airlines")
    )
    paths = DayPaths.of(params, data_interval_start)
    return partitions.overwrite(carriers, paths.partition("by_carrier"), "sum(flights) AS flights")


@task.pyspark
def aggregate_by_airport(spark, params, data_interval_start, enriched):
    """Count departures, arrivals, cancellations and delays of each airport."""
    airports = tables.by_airport(
        spark.read.parquet(enriched["path"]), source.read_table(spark, "airports")
    )
    paths = DayPaths.of(params, data_interval_start)
    sums = ("sum(departures) AS departures", "sum(arrivals) AS arrivals")
    return partitions.overwrite(airports, paths.partition("by_airport"), *sums)


@task
def report_day(params, data_interval_start, enriched, carriers, airports):
    """Write the day's summary, and draw the picture of all days there are."""
    paths = DayPaths.of(params, data_interval_start)
    summary = report.summarise(paths.day, enriched, carriers, airports)
    report.write_summary(summary, paths.summary)
    report.redraw(paths.root)
    return asdict(summary)


@dag(
    schedule="@daily",
    start_date=pendulum.datetime(2013, 1, 1, tz="America/New_York"),
    end_date=pendulum.datetime(2013, 12, 31, tz="America/New_York"),
    catchup=False,
    max_active_runs=2,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
    params={"output": "~/headway-flights"},
    tags=["example", "spark"],
    doc_md=__doc__,
)
def flights_daily():
    """Wire the tasks; each argument is a dependency."""
    flights = clean_and_check(landed=land())
    weather = join_weather(flights=flights)
    planes = join_planes(flights=flights)
    enriched = enrich(flights=flights, weather=weather, planes=planes)
    report_day(
        enriched=enriched,
        carriers=aggregate_by_carrier(enriched=enriched),
        airports=aggregate_by_airport(enriched=enriched),
    )


flights_daily()
