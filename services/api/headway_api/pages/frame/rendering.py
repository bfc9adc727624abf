"""Turn a template into the answer to a request for a page."""

from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from headway.domain.accounts import Permission, may
from headway.domain.sizes import in_bytes
from headway.runtime.logs.escaping import visible
from headway_api.auth.caller import Caller
from headway_api.auth.shared_asks import shared_ask
from headway_api.http.caching import REVALIDATED, is_known, not_modified, of_body
from headway_api.http.compressing import compressed
from headway_api.pages.frame import addresses, durations, moments, states_shown
from headway_api.pages.frame.assets import ASSETS
from headway_api.pages.frame.wording import coded

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types headway"
)
"""What a page may load: nothing but this API's own files, and no text becomes a script."""


def page(
    request: Request,
    template: str,
    caller: Caller | None,
    context: Mapping[str, Any],
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Answer with a page, or with 304 if the browser has just that.

    A template has no value that is not given: a name that is missing is an error.  A page that is
    made for all who show it has no more than what a script puts in place: title and content.
    """
    shown, shared = _environment().get_template(template), shared_ask(request) is not None
    body = shown.render(request=request, caller=caller, shared=shared, **context).encode()
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": REVALIDATED,
        "Vary": "Cookie",
        # A browser asks for the styles before it has read the page.
        "Link": f"<{ASSETS.address('headway.css')}>; rel=preload; as=style",
    }
    if status is HTTPStatus.OK:
        headers["ETag"] = of_body(body, strong=False)
        if is_known(request, headers["ETag"]):
            return not_modified(headers)
    return HTMLResponse(compressed(request, body, headers), status, headers)


def part(template: str, context: Mapping[str, Any]) -> str:
    """Return a part of a page."""
    return _environment().get_template(template).render(**context)


@lru_cache(1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("headway_api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "asset": ASSETS.address,
        "to": addresses,
        "state": states_shown.state,
        "mark": states_shown.mark,
        "moment": moments.moment,
        "may_operate": _may_operate,
    }
    environment.filters |= {
        "duration": durations.in_words,
        "size": in_bytes,
        "visible": visible,
        "coded": coded,
        "quoted": _quoted,
    }
    return environment


def _quoted(name: str) -> str:
    """Return a name as a part of a topic."""
    return quote(name, safe="")


def _may_operate(caller: Caller, bundle: str | None) -> bool:
    """Tell whether the account may change runs and DAGs of a bundle, or of some for None."""
    return may(caller.account, Permission.OPERATE, bundle)
