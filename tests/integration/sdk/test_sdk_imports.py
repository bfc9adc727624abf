"""What importing the SDK costs."""

import subprocess
import sys

import headway.sdk

HEAVY = (
    "sqlalchemy",
    "pyspark",
    "pydantic",
    "jinja2",
    "pendulum",
    "msgpack",
    "headway.db",
    "headway.runtime",
    "headway.serialization",
    "headway.embedded",
    "headway.cli",
)


def test_importing_every_name_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from headway.sdk import *\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout.strip() == "[]"


def test_every_exported_name_exists_and_no_other() -> None:
    for name in headway.sdk.__all__:
        assert getattr(headway.sdk, name) is not None

    assert sorted(headway.sdk.__all__) == sorted(headway.sdk._HOME_OF)
    assert not hasattr(headway.sdk, "Dag")
