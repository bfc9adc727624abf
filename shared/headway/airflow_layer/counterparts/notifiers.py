"""BaseNotifier: a callback that is an object with templates."""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from headway.airflow_layer.counterparts.calls import LoggingMixin
from headway.sdk.context.templates import render
from headway.sdk.running.context import Context


class BaseNotifier(LoggingMixin):
    """Override `notify`; name in `template_fields` the attributes to render.

    It is given as a callback: on_failure_callback=MyNotifier(…).
    """

    template_fields: ClassVar[Sequence[str]] = ()

    def __init__(self, **_: Any) -> None:
        pass

    def notify(self, context: Context) -> None:
        """Tell of what has happened."""
        raise NotImplementedError(f"{type(self).__name__} must define notify(self, context).")

    def __call__(self, context: Context) -> None:
        """Render the templates, and notify."""
        told = copy.copy(self)
        for field in self.template_fields:
            where = f"{type(self).__name__}: {field}"
            setattr(told, field, render(getattr(self, field), context, where))
        told.notify(context)
