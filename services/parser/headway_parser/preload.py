"""What the fork server of a parser imports, so that its children find it done.

It goes once through all that a child does, with a DAG of its own: what is made at the
first use (validators, signatures, time zones) is then there as well.
"""

import pendulum

import headway_parser.child  # noqa: F401 - what children are started with
from headway import sdk
from headway.sdk.specification import to_spec
from headway.serialization import codec


def warm_up() -> None:
    """Define a DAG, and put it into bytes."""
    for name in sdk.__all__:
        getattr(sdk, name)  # imported when it is asked for
    start = pendulum.datetime(2024, 1, 1, tz="UTC")
    with sdk.DAG("warm_up", schedule="@daily", start_date=start) as dag:
        first = sdk.BashOperator(task_id="first", bash_command="true")
        first >> sdk.BashOperator(task_id="second", bash_command="true")
    codec.encode(to_spec(dag, "warm_up.py"))


warm_up()
