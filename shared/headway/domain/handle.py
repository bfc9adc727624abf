"""The handle: by what an attempt's work in Spark can be found again, and ended.

It is plain data.  `kind` is "connect", with the `session_id`, the `url` of its server and its
`user` there, and the `process` of a server that is a worker's own; or "submit".  Each has the
`application_id` as soon as it is known, and the `conn_id`.  `tag` names the attempt in either.

A submission of `mode` "cluster" outlives the attempt: it has the `master`, on Kubernetes the
`submission_id` (namespace:pod), and is marked `submitted` once spark-submit has said so,
`refused` by an attempt that could not find out about it, `stopped` (timed_out, cancelled) by one
that came after one which had to stop, or `ended` by one that has seen to its end.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

Handle: TypeAlias = Mapping[str, str]

OnHandle: TypeAlias = Callable[[Handle], object]
"""Keeps a handle.  It is called before Spark is given anything to do, and may be called again."""

CLUSTER: Final = "cluster"
"""The mode of a handle whose driver runs on the cluster."""


def name_of(handle: Handle) -> str:
    """Return what to call the application in words to a user."""
    known = handle.get("application_id") or handle.get("submission_id") or handle.get("tag")
    return f"application {known}"


def outliving(handle: object) -> str | None:
    """Return the name of the application that may go on without its attempt, if it is of one."""
    if not isinstance(handle, Mapping) or handle.get("mode") != CLUSTER:
        return None
    settled = "ended" in handle or "refused" in handle
    return None if settled else name_of(handle)
