"""Applications on a cluster: in cluster mode, with a time limit, and in client mode."""

from datetime import timedelta
from typing import Any

from headway.sdk import DAG, SparkSubmitOperator

OPTIONS: dict[str, Any] = {"application": "/jobs/job.py", "status_poll_interval": 0.1}

with DAG("remote", schedule=None):
    SparkSubmitOperator(
        task_id="job", deploy_mode="cluster", retries=1, retry_delay=timedelta(0), **OPTIONS
    )

with DAG("remote_pod", schedule=None):
    SparkSubmitOperator(task_id="job", deploy_mode="cluster", conn_id="pods", **OPTIONS)

with DAG("remote_overdue", schedule=None):
    SparkSubmitOperator(
        task_id="job", deploy_mode="cluster", execution_timeout=timedelta(seconds=15), **OPTIONS
    )

with DAG("near_overdue", schedule=None):
    SparkSubmitOperator(task_id="job", execution_timeout=timedelta(seconds=15), **OPTIONS)

with DAG("remote_once", schedule=None):
    SparkSubmitOperator(task_id="job", deploy_mode="cluster", on_lost="fail", **OPTIONS)
