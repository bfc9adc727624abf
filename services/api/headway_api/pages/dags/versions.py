"""The versions of a DAG, and the code of each as it was."""

from typing import Annotated, Any, Final

from fastapi import Path, Request
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer, TextLexer
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.history import as_it_was, check_known, sources
from headway.db.reads import history
from headway.domain.accounts import Permission
from headway.domain.errors import NotFoundError, VersionNotFoundError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_DAG = addresses.DAGS + "/{dag_id}"
_LARGEST: Final = 2**20
"""Bytes of a file that is shown in colours."""

VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get(_DAG + "/versions")
def show_versions(
    request: Request, caller: AnyCaller, dag_id: str, cursor: str | None = None
) -> Response:
    """List the versions of a DAG, the newest first."""

    def read(conn: Connection) -> dict[str, Any]:
        caller.check_dag(conn, Permission.READ, dag_id)
        check_known(conn, dag_id)
        found = history.page(conn, caller.page(50, cursor), dag_id)
        return {"dag_id": dag_id, "found": found}

    return page(request, "versions.html", caller, caller.read(read))


@router.get(_DAG + "/versions/{number:int}")
def show_version(
    request: Request, caller: AnyCaller, dag_id: str, number: VersionNumber
) -> Response:
    """Show a version: its tasks and the files of its code."""

    def read(conn: Connection) -> dict[str, Any]:
        caller.check_dag(conn, Permission.READ, dag_id)
        was, version = as_it_was(conn, dag_id, number), history.version(conn, dag_id, number)
        if version is None:
            raise VersionNotFoundError(f"Version {number} of DAG {dag_id} was deleted just now.")
        return {"dag_id": dag_id, "version": version, "was": was}

    return page(request, "version.html", caller, caller.read(read))


@router.get(_DAG + "/versions/{number:int}/files/{path:path}")
def show_file(
    request: Request, caller: AnyCaller, dag_id: str, number: VersionNumber, path: str
) -> Response:
    """Show a file as a version has it."""
    context = caller.read(lambda conn: _file(caller, conn, dag_id, number, path))
    return page(request, "code.html", caller, context)


def _file(caller: Caller, conn: Connection, dag_id: str, number: int, path: str) -> dict[str, Any]:
    caller.check_dag(conn, Permission.READ, dag_id)
    was = as_it_was(conn, dag_id, number)
    if path not in was.files:
        raise NotFoundError(f"Version {number} of DAG {dag_id} has no file {path!r}.")
    (files,) = sources(conn, was)
    text = files[path].decode(errors="replace")
    code = _coloured(text, is_python=path.endswith(".py")) if len(text) <= _LARGEST else None
    return {"dag_id": dag_id, "number": number, "path": path, "text": text, "code": code}


def _coloured(text: str, *, is_python: bool) -> Markup:
    """Return code as HTML with classes; Pygments escapes what is in it."""
    lexer = PythonLexer(stripnl=False) if is_python else TextLexer(stripnl=False)
    formatter = HtmlFormatter(
        nowrap=False, classprefix="k-", cssclass="code", linenos="inline", lineanchors="L",
        anchorlinenos=True,
    )  # fmt: skip
    return Markup(highlight(text, lexer, formatter))  # noqa: S704 - by a highlighter, escaped
