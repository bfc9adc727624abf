"""BaseAsyncOperator: what operators derive from whose `aexecute` is a coroutine function."""

from typing import Any

from headway.airflow_layer.tolerance.operators import TolerantOperator
from headway.sdk.running.context import Context


class BaseAsyncOperator(TolerantOperator):
    """Run `aexecute` in an event loop of its own, to its end."""

    async def aexecute(self, context: Context) -> Any:
        """Do the work."""
        raise NotImplementedError(f"{type(self).__name__} must define aexecute(self, context).")

    def execute(self, context: Context) -> Any:
        """Return what `aexecute` returns."""
        import asyncio  # which takes long to import, and few tasks need it

        return asyncio.run(self.aexecute(context))
