"""Spark for an attempt: what it needs to know it asks its worker."""

from collections.abc import Callable
from pathlib import Path

from headway.runtime import settings
from headway.runtime.frames import Frame
from headway_worker.order import Order
from headway_worker.spark.access import SparkAccess
from headway_worker.spark.driver import SubmitSettings
from headway_worker.spark.endpoint import ConnectEndpoint
from headway_worker.spark.handle import Handle


def spark_of(order: Order, ask: Callable[[Frame], Frame]) -> SparkAccess:
    """Return the attempt's access to Spark; the worker's server starts when it is first used."""

    def save_handle(handle: Handle) -> None:
        ask({"ask": "save_handle", "handle": dict(handle)})

    known = ask({"ask": "spark", "session": False})
    return SparkAccess(
        endpoint=lambda: ConnectEndpoint.from_frame(
            ask({"ask": "spark", "session": True})["endpoint"]
        ),
        attempt_key=order.attempt_key,
        on_handle=save_handle,
        bundle_root=order.code,
        submission=SubmitSettings(
            java_home=Path(known["java_home"]),
            scratch=Path.cwd() / "spark-submit",
            environment=settings.environment(),
            master=known["master"],
        ),
    )
