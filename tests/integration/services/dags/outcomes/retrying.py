"""Tasks that are tried again, and those that are not."""

from typing import Any

from headway.sdk import DAG, BashOperator, EmptyOperator, task
from headway.sdk.exceptions import AirflowFailException, AirflowSkipException

with DAG("recovers"):

    @task(retries=2, retry_delay=0.4)
    def flaky(try_number: int) -> int:
        if try_number < 3:
            raise RuntimeError(f"attempt {try_number} had no luck")
        return try_number

    flaky() >> EmptyOperator(task_id="after")

with DAG("gives_up"):

    @task(retries=1, retry_delay=0)
    def hopeless() -> None:
        raise ValueError("no luck at all")

    hopeless() >> EmptyOperator(task_id="after")

with DAG("backs_off"):

    @task(
        retries=3,
        retry_delay=0.2,
        retry_exponential_backoff=True,
        max_retry_delay=0.5,
        retry_jitter="none",
    )
    def doubling() -> None:
        raise ValueError("still not")

    doubling()

with DAG("says_how_it_ended", default_args={"retries": 3, "retry_delay": 0}):

    @task
    def skips() -> None:
        raise AirflowSkipException("nothing to do today")

    @task
    def fails_for_good() -> None:
        raise AirflowFailException("the source is gone")

    after_skip = EmptyOperator(task_id="after_skip")
    skips() >> after_skip
    fails_for_good()
    BashOperator(task_id="skips_by_code", bash_command="exit 99")
    BashOperator(task_id="fails_by_code", bash_command="echo bad; exit 3", retries=0)

with DAG("values_of_attempts"):

    @task(retries=1, retry_delay=0)
    def leaves_then_fails(ti: Any) -> None:
        if ti.try_number == 1:
            ti.xcom_push("first", 1)
            raise RuntimeError("after a push")

    @task
    def looks(ti: Any) -> Any:
        return ti.xcom_pull("leaves_then_fails", key="first", default="nothing")

    leaves_then_fails() >> looks()
