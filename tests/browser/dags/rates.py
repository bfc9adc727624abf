"""Rates of exchange: an edit will break it."""

import pendulum

from headway.sdk import dag, task

RATES = {"NOK": 1.0, "EUR": 11.6}


@dag(schedule=None, start_date=pendulum.datetime(2024, 5, 1, tz="UTC"), tags=["shop"])
def rates() -> None:
    @task
    def convert() -> float:
        return 100 * RATES["EUR"]

    convert()


rates()
