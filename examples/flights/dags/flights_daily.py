"""Flights out of New York by day: landed, checked, joined, aggregated and reported.

A run is about one day, or several that follow each other, and makes the same of each: a task
overwrites exactly the partitions of the run's days, the folders `<output>/<table>/date=<day>`, so
any of them may be retried or run again. `output` is a param: give another folder with
`--conf '{"output": "/data/flights"}'`. So is `picture`: when it is false none is drawn, which
spares a long backfill a drawing after each run.
"""

from dataclasses import asdict
from datetime import timedelta

import pendulum
from flights import checks, partitions, report, source, tables
from flights.paths import RunPaths

from headway.sdk import dag, get_current_context, task


def paths_of_run():
    """Return where the run's days are."""
    run = get_current_context()
    return RunPaths.of(run["params"], run["data_interval_start"], run["data_interval_end"])


@task.pyspark
def land(spark, data_interval_start, data_interval_end):
    """Copy the flights of the run's days out of the source, unchanged."""
    paths = paths_of_run()
    year = source.read_flights(spark, paths.root)
    flights = tables.land(year, data_interval_start, data_interval_end)
    return partitions.overwrite(flights, paths, "landed")


@task.pyspark
def clean_and_check(spark, landed):
    """Turn clock times into instants; fail when a value is impossible or a row is missing."""
    paths = paths_of_run()
    raw = partitions.read(spark, landed["path"])
    checks.demand_none(checks.count_offences(raw), paths.period)
    flights = partitions.overwrite(tables.clean(raw), paths, "flights")
    checks.demand_equal_rows({"landed": landed, "clean": flights})
    return flights


@task.pyspark
def join_weather(spark, flights):
    """Find the weather of each flight: at its origin, in its scheduled hour."""
    found = tables.join_weather(
        partitions.read(spark, flights["path"]), source.read_table(spark, "weather")
    )
    paths = paths_of_run()
    return partitions.overwrite(found, paths, "flight_weather")


@task.pyspark
def join_planes(spark, flights):
    """Find the plane of each flight by its tail number."""
    found = tables.join_planes(
        partitions.read(spark, flights["path"]), source.read_table(spark, "planes")
    )
    paths = paths_of_run()
    return partitions.overwrite(found, paths, "flight_plane")


@task.pyspark
def enrich(spark, flights, weather, planes):
    """Bring flights, weather and planes together; fail when a join lost or doubled a flight."""
    parts = {"clean": flights, "with weather": weather, "with planes": planes}
    paths = paths_of_run()
    whole = partitions.overwrite(
        tables.enrich(*(partitions.read(spark, part["path"]) for part in parts.values())),
        paths,
        "enriched",
        *tables.TOTALS,
    )
    parts["enriched"] = whole
    checks.demand_equal_rows(parts)
    return whole


@task.pyspark
def aggregate_by_carrier(spark, enriched):
    """Count flights, cancellations and delays of each carrier."""
    carriers = tables.by_carrier(
        partitions.read(spark, enriched["path"]), source.read_table(spark, "airlines")
    )
    paths = paths_of_run()
    return partitions.overwrite(carriers, paths, "by_carrier", "sum(flights) AS flights")


@task.pyspark
def aggregate_by_airport(spark, enriched):
    """Count departures, arrivals, cancellations and delays of each airport."""
    airports = tables.by_airport(
        partitions.read(spark, enriched["path"]), source.read_table(spark, "airports")
    )
    paths = paths_of_run()
    sums = ("sum(departures) AS departures", "sum(arrivals) AS arrivals")
    return partitions.overwrite(airports, paths, "by_airport", *sums)


@task
def report_day(params, enriched, carriers, airports):
    """Write the summary of each day, and draw the picture of all days there are."""
    paths = paths_of_run()
    figures = [table["days"] for table in (enriched, carriers, airports)]
    summaries = [report.summarise(str(day), figures) for day in paths.days]
    for summary in summaries:
        report.write_summary(summary, paths.summary(summary.day))
    if params["picture"]:
        report.redraw(paths.root)
    return [asdict(summary) for summary in summaries]


@dag(
    schedule="@daily",
    start_date=pendulum.datetime(2013, 1, 1, tz="America/New_York"),
    end_date=pendulum.datetime(2013, 12, 31, tz="America/New_York"),
    catchup=False,
    max_active_runs=2,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
    params={"output": "~/headway-flights", "picture": True},
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
