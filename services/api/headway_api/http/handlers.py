"""How a handler is called: in one thread, from who makes the request to the text of the answer.

FastAPI runs a dependency that is no coroutine in one thread, the handler in another one, and the
check of its answer in a third.  Each change of threads takes a tenth of a millisecond, a tenth of a
short request.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Deferred:
    """What a dependency returns for a parameter that `make` makes when the handler is called."""

    make: Callable[[], object]


def in_one_thread(handler: Callable[..., Any], status: int | None) -> Callable[..., Any]:
    """Return a handler that first makes its deferred parameters, and answers with that status.

    FastAPI is left to answer what is no model, and where the handler sets headers or cookies.
    """

    @wraps(handler)
    def call(**given: Any) -> Any:
        answer = handler(**_made(given))
        if not isinstance(answer, BaseModel) or any(
            isinstance(value, Response) for value in given.values()
        ):
            return answer
        text = answer.model_dump_json(by_alias=True)
        return Response(text, status or 200, media_type="application/json")

    @wraps(handler)
    async def call_coroutine(**given: Any) -> Any:
        return await handler(**await run_in_threadpool(_made, given))

    return call_coroutine if inspect.iscoroutinefunction(handler) else call


def _made(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.make() if isinstance(value, Deferred) else value
        for name, value in given.items()
    }
