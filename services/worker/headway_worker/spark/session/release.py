"""End what an attempt left running in Spark, after the attempt itself was killed."""

from collections.abc import Mapping
from typing import Any

from headway_worker.spark.session.session import release_session
from headway_worker.spark.target.endpoint import ConnectEndpoint


def release(argument: Mapping[str, Any], _channel: object) -> None:
    """Release a session; the target of a child of the Spark-flavoured fork server.

    The supervisor has no pyspark, and opens no connection that it would fork with.
    The child's exit code is 0 if and only if the session's jobs have ended.
    """
    release_session(ConnectEndpoint.from_frame(argument["endpoint"]), argument["session_id"])
