"""A snapshot at an exact time: start, end and run time are the same, and it is stamped with it."""

import pendulum

from headway.sdk import DAG, CronTimetable, task

with DAG(
    "exact_time",
    schedule=CronTimetable("30 2 * * *"),
    start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"),
    catchup=True,
):

    @task
    def capture_snapshot(ts_nodash: str) -> str:
        return f"would dump the database to mydb_{ts_nodash}.pgdump"

    capture_snapshot()
