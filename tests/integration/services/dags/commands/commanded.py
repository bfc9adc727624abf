"""DAGs for the command line."""

import pendulum

from headway.sdk import DAG, EmptyOperator, task

with DAG(
    "daily",
    schedule="30 6 * * *",
    start_date=pendulum.datetime(2013, 1, 1, tz="America/New_York"),
    end_date=pendulum.datetime(2013, 1, 3, tz="America/New_York"),
    is_paused_upon_creation=False,
    description="For the command line",
    tags=["demo"],
    params={"fail": False},
):

    @task(retries=1, retry_delay=0)
    def work(params: dict[str, bool], try_number: int) -> str:
        print(f"attempt {try_number} says hello")  # noqa: T201
        if params["fail"] or try_number == 1:
            raise RuntimeError("not yet")
        return "done"

    work() >> EmptyOperator(task_id="rest", pool="special")

with DAG("by_hand", params={"fail": False}):

    @task
    def fails_if_told(params: dict[str, bool]) -> None:
        assert not params["fail"], "as it was told"

    fails_if_told()
