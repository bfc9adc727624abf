"""The page that a sign-in link opens.

The secret of a link is its fragment, so neither a server's log nor a program that only looks at
the address learns it or uses it up.  The script of the page sends it.
"""

import base64
import hashlib
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from headway.actions.accounts.links import PAGE

_SCRIPT: Final = """
const said = document.querySelector("p");
const link = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
fetch("session/link", {
  method: "POST",
  headers: {"Content-Type": "application/json"},
  body: JSON.stringify({link}),
}).then(async (answer) => {
  const body = await answer.json();
  said.textContent = answer.ok
    ? `You are signed in as ${body.name}, with the role ${body.role}.`
    : body.detail;
}).catch(() => {
  said.textContent = "The API did not answer. Make a new link, and try again.";
});
"""

_HTML: Final = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in - Headway</title>
<h1>Headway</h1>
<p role="status">Signing in ...</p>
<noscript>Signing in by a link needs JavaScript.</noscript>
<script type="module">{_SCRIPT}</script>
</html>
"""

_DIGEST: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()

_POLICY: Final = (
    f"default-src 'none'; script-src 'sha256-{_DIGEST}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)

router = APIRouter()


@router.get(PAGE, response_class=HTMLResponse, include_in_schema=False)
def show_link_page() -> HTMLResponse:
    """Show the page that signs a browser in by the link which it was opened with."""
    return HTMLResponse(_HTML, headers={"Content-Security-Policy": _POLICY})
