"""Tasks that print too much, or no text."""

import sys

from headway.sdk import DAG, task

with DAG("prints"):

    @task
    def a_flood() -> str:
        line = "x" * 1000
        for number in range(50 * 1024):
            print(line, "line", number)  # noqa: T201
        return "dry"

    @task
    def bytes_of_all_kinds() -> str:
        sys.stdout.buffer.write(bytes(range(256)) * 4 + b"\n")
        sys.stdout.buffer.flush()
        print("\udcff lone surrogate")  # noqa: T201
        return "fine"

    @task
    def one_endless_line() -> str:
        sys.stdout.write("y" * 100_000)
        return "broken"

    a_flood()
    bytes_of_all_kinds()
    one_endless_line()
