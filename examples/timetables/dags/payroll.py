"""Payday is the 15th of the month, or the last working day before it, at nine in the morning."""

import pendulum

from headway.sdk import DAG, CronTimetable, LastWorkdayOnOrBefore, task

with DAG(
    "payroll",
    schedule=CronTimetable("0 9 * * *") & LastWorkdayOnOrBefore(day=15, calendar="US"),
    start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"),
    catchup=True,
):

    @task
    def pay(ds: str) -> str:
        return f"would pay everybody on {ds}"

    pay()
