"""A DAG whose texts are those of somebody who wants to harm."""

import sys

import pendulum

from headway.sdk import dag, task

MARKUP = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"


@dag(
    schedule=None,
    start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
    description=f"{MARKUP} \u202eright to left",
    tags=["<b>bold</b>"],
)
def hostile() -> None:
    @task
    def shout() -> None:
        print(MARKUP)
        print("\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07")
        print("\u202edetrevni")
        print("x" * 200_000)
        sys.stderr.write("</ol></main><h1>taken over</h1>\n")
        raise ValueError(MARKUP)

    shout()


hostile()
