"""A DAG whose failures, and missed deadlines, are told to a web server."""

from headway.sdk import DAG, BaseHook, DeadlineAlert, DeadlineReference, Notifier, task


def tell(_context: object) -> None:
    """Read what the DAG is granted, as a callback."""
    print("callback found", BaseHook.get_connection("hook").host)  # noqa: T201


with DAG(
    "notified",
    schedule=None,
    deadline=DeadlineAlert(DeadlineReference.QUEUED, 0.5),
    notify=Notifier("hook", on=["failure", "missed_deadline", "task_failure"]),
    on_failure_callback=tell,
):

    @task
    def breaks(number: int) -> None:
        """Fail, and quote what no message may have."""
        from time import sleep

        sleep(2)
        message = f"no rows for {number}: {BaseHook.get_connection('hook').password}"
        raise ValueError(message)

    breaks.expand(number=list(range(20)))
