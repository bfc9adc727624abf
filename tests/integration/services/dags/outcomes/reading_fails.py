"""A file that a worker cannot read."""

import os

from headway.sdk import DAG, EmptyOperator

with DAG("breaks_on_the_worker"):
    EmptyOperator(task_id="never_found")

if "HEADWAY_ATTEMPT" in os.environ:
    raise RuntimeError("this machine lacks something")
