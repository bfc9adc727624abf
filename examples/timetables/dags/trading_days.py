"""Each day on which the New York Stock Exchange is open, two hours after it is over."""

from datetime import timedelta

import pendulum

from headway.sdk import DAG, Delayed, TradingDays, task

with DAG(
    "trading_days",
    schedule=Delayed(TradingDays("XNYS"), by=timedelta(hours=2)),
    start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"),
    catchup=True,
):

    @task
    def load_prices(ds: str) -> str:
        return f"would load the prices of {ds}"

    load_prices()
