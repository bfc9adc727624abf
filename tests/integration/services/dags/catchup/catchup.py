"""One DAG for each way to treat missed runs, over three days that are long over; and overlaps."""

from datetime import timedelta

import pendulum
from pendulum import DateTime

from headway.sdk import DAG, BashOperator, EmptyOperator, task

FIRST = pendulum.datetime(2013, 3, 9, tz="America/New_York")
LAST = pendulum.datetime(2013, 3, 11, tz="America/New_York")

for mode in ("none", "latest", "all", "rollup"):
    with DAG(mode, schedule="@daily", start_date=FIRST, end_date=LAST, catchup=mode):
        EmptyOperator(task_id="nothing")

with DAG(
    "after_a_failure",
    schedule="@daily",
    start_date=FIRST,
    end_date=LAST,
    catchup="all",
    max_active_runs=1,
):

    @task
    def show(
        prev_data_interval_start_success: DateTime | None,
        prev_data_interval_end_success: DateTime | None,
        prev_start_date_success: DateTime | None,
        prev_end_date_success: DateTime | None,
    ) -> list[str | None]:
        dates = (
            prev_data_interval_start_success,
            prev_data_interval_end_success,
            prev_start_date_success,
            prev_end_date_success,
        )
        return [None if date is None else date.isoformat() for date in dates]

    BashOperator(
        task_id="fail_on_the_second_day",
        bash_command="echo '{{ prev_data_interval_end_success }}'; test {{ ds }} != 2013-03-10",
    )
    show()

for overlap in ("queue", "skip", "cancel_running"):
    with DAG(
        overlap,
        schedule=timedelta(seconds=2),
        overlap=overlap,
        max_active_runs=3,
        is_paused_upon_creation=True,
    ):
        BashOperator(task_id="long", bash_command="sleep 3600")
