"""A file that is not the same when a worker reads it again."""

import os

from headway.sdk import DAG, EmptyOperator

IN_A_TASK = "HEADWAY_ATTEMPT" in os.environ

with DAG("makes_other_tasks"):
    EmptyOperator(task_id="in_a_task" if IN_A_TASK else "in_the_parser")
