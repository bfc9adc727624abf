"""Programs that tasks and bundles call."""

from headway.sdk import dag, task


@dag(schedule=None)
def tools() -> None:
    @task.bash
    def tell() -> str:
        return "id -u && git --version && ssh -V 2>&1"

    tell()


tools()
