"""What the fork server of a parser imports, so that its children find it done.

It goes once through all that a child does, with a DAG of its own: what is made at the
first use (validators, signatures, time zones) is then there as well.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import pendulum

from headway import sdk
from headway.runtime.processes.frames import encode_frame
from headway.sdk.bundle.declared_files import declared
from headway.sdk.bundle.static_imports import Imports
from headway.sdk.harness.loading import SourceOnly
from headway.sdk.harness.specification import to_spec
from headway.serialization import codec
from headway_parser.child import bundle_forker, preloaded
from headway_parser.child.parse_file import tell_crashes

SOURCE: Final = (
    "from headway.sdk import DAG\nwith DAG('d') as dag:\n    x = [f'{n}' for n in (1, 2)]\n"
)

TIMES: Final = 10
"""So often the interpreter must see what it is to run quickly."""


def warm_up() -> None:
    """Define a DAG, and put it into bytes, until that costs no more than it will in a child.

    The interpreter rewrites what it runs for the first times, and each page that a child writes
    to it has to copy.
    """
    for name in sdk.__all__:
        with suppress(ModuleNotFoundError):  # it needs an extra, which a DAG file is told of
            getattr(sdk, name)  # imported when it is asked for
    for _ in range(TIMES):
        start = pendulum.datetime(2024, 1, 1, tz="UTC")
        with sdk.DAG("warm_up", schedule="@daily", start_date=start) as dag:
            first = sdk.BashOperator(task_id="first", bash_command="true")
            first >> sdk.BashOperator(task_id="second", bash_command="true")
        encode_frame({"dags": [codec.encode(to_spec(dag, "warm_up.py"))]})
        SourceOnly("warm_up", "warm_up.py").source_to_code(SOURCE, "warm_up.py")
        declared(SOURCE.encode(), "warm_up.py")
        Imports(Path("/"), [""]).scan("warm_up.py", SOURCE.encode())


tell_crashes()
warm_up()
preloaded.begin_with([*sys.modules, bundle_forker.__name__])
