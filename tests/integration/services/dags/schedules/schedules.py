"""Every kind of schedule, over ranges of dates that are long over."""

from datetime import timedelta

import pendulum

from headway.sdk import (
    DAG,
    ContinuousTimetable,
    CronTimetable,
    DataTimetable,
    Delayed,
    EmptyOperator,
    EventsTimetable,
    Hours,
    Minutes,
    NullTimetable,
    OnceTimetable,
    RollingWindow,
    TimeDeltaTimetable,
    TradingDays,
    Workdays,
)

NEW_YORK = "America/New_York"
FIRST = pendulum.datetime(2013, 3, 9, tz=NEW_YORK)
LAST = pendulum.datetime(2013, 3, 11, tz=NEW_YORK)

PAST = {
    "by_cron": "0 0 * * *",
    "by_preset": "@daily",
    "by_timedelta": timedelta(days=1),
    "by_data_timetable": DataTimetable("0 6 * * *", timedelta(hours=2), NEW_YORK),
    "by_cron_timetable": CronTimetable("30 6 * * *", NEW_YORK),
    "by_delta_timetable": TimeDeltaTimetable(timedelta(days=1), timedelta(hours=1)),
    "by_period": "P1D",
    "by_delayed_timetable": Delayed(DataTimetable("@daily"), timedelta(hours=2)),
    "by_rolling_window": RollingWindow(DataTimetable("@daily"), timedelta(days=2)),
    "by_boolean_time": Hours(6) & Minutes(30),
    "by_exclusion": DataTimetable("@daily") - EventsTimetable(["2013-03-10"]),
    "by_workdays": Workdays("US"),
    "by_trading_days": TradingDays("XNYS"),
    "once": "@once",
    "by_once_timetable": OnceTimetable(),
    "by_hand": None,
    "by_null_timetable": NullTimetable(),
}

for name, schedule in PAST.items():
    with DAG(name, schedule=schedule, start_date=FIRST, end_date=LAST, catchup=True):
        EmptyOperator(task_id="nothing")

with DAG("latest_only", schedule="@hourly", start_date=FIRST, catchup="latest"):
    EmptyOperator(task_id="nothing")

with DAG("in_the_future", schedule="@daily", start_date=pendulum.datetime(2999, 1, 1)):
    EmptyOperator(task_id="nothing")

with DAG(
    "one_after_another",
    schedule="@daily",
    start_date=FIRST,
    end_date=LAST,
    catchup=True,
    max_active_runs=1,
):
    EmptyOperator(task_id="first") >> EmptyOperator(task_id="second")

with DAG("paused", schedule="@once", start_date=FIRST, is_paused_upon_creation=True):
    EmptyOperator(task_id="nothing")

with DAG("continuous", schedule=ContinuousTimetable()):
    EmptyOperator(task_id="nothing")
