"""Daily on weekdays: Friday's data is processed on Saturday at midnight, not on Monday."""

from datetime import timedelta

import pendulum

from headway.sdk import DAG, DataTimetable, task

with DAG(
    "weekdays",
    schedule=DataTimetable("0 0 * * MON-FRI", interval=timedelta(days=1)),
    start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"),
    catchup=True,
):

    @task
    def process(
        data_interval_start: pendulum.DateTime, data_interval_end: pendulum.DateTime
    ) -> str:
        begin, end = (
            date.in_timezone("America/New_York")
            for date in (data_interval_start, data_interval_end)
        )
        return f"the data of {begin:%A, %d %B %Y}, complete since {end:%A %H:%M}"

    process()
