"""A small shop's pipelines: some of it works, one run fails, one waits for a full pool."""

import logging
from time import sleep

import pendulum

from headway.sdk import dag, task

START = pendulum.datetime(2024, 5, 1, tz="UTC")


@dag(
    schedule="@daily",
    start_date=START,
    end_date=START.add(days=6),
    catchup=True,
    tags=["shop", "daily numbers"],
    description="Sums up the orders of a shop by the day.",
)
def orders() -> None:
    @task
    def extract() -> int:
        print("read 1,204 orders")
        return 1204

    @task
    def clean(number: int) -> int:
        return number - 12

    @task
    def currency() -> None:
        sleep(0.2)

    @task(retries=1, retry_delay=0.1)
    def load(number: int, ds: str | None = None) -> int:
        logging.getLogger("shop").warning("the warehouse is slow today")
        if ds == "2024-05-04":
            raise ValueError("The warehouse refuses the rows: column 'amount' is missing")
        return number

    @task
    def report() -> None:
        print("sent")

    loaded = load(clean(extract()))
    currency() >> loaded >> report()


orders()


@dag(schedule=None, start_date=START, tags=["shop"])
def stores() -> None:
    @task
    def names() -> list[str]:
        return ["Oslo", "Bergen", "Tromsø", "Bodø"]

    @task
    def count(name: str) -> None:
        print(name)

    count.expand(name=names())


stores()


@dag(schedule=None, start_date=START)
def exports() -> None:
    for number in range(4):

        @task(task_id=f"export_{number}", pool="warehouse")
        def export() -> None:
            for page in range(1_000):
                print("page", page)
                sleep(0.5)

        export()


exports()


@dag(schedule=None, start_date=START)
def minutes() -> None:
    @task
    def write() -> None:
        for number in range(2_000):
            print("minute", number)
            sleep(0.05)

    write()


minutes()
