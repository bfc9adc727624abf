"""Kinds of pages, by which the metrics tell of their makings."""

from collections.abc import Mapping
from typing import Final

from starlette.types import Scope

from headway.metrics.api import OTHER_PAGES

_RUN: Final = "/dags/{dag_id}/runs/{run_id}"
_TASK: Final = _RUN + "/tasks/{task_id}"

KINDS: Final[Mapping[str, str]] = {
    "/": "home",
    "/dags": "dags",
    "/dags/{dag_id}": "dag",
    "/dags/{dag_id}/cells": "cells",
    "/headway/v1/dags/{dag_id}/grid": "cells",
    "/dags/{dag_id}/calendar": "calendar",
    "/runs": "runs",
    _RUN: "run",
    _RUN + "/graph": "run_graph",
    _TASK: "task",
    _TASK + "/{map_index}": "task",
    _TASK + "/attempts/{attempt}/log": "log",
    _TASK + "/attempts/{attempt}/spark": "spark",
    "/backfills/{number}": "backfill",
    "/pools": "pools",
    "/pools/{name}": "pool",
    "/processes": "processes",
}
"""The pages that follow topics, by the path of their routes."""


def kind_of(scope: Scope) -> str:
    """Return the kind of the page that was asked for, by the route that the application found."""
    return KINDS.get(getattr(scope.get("route"), "path_format", ""), OTHER_PAGES)
