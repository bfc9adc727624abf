"""The code of a version, file by file."""

from collections.abc import Iterator
from typing import Annotated, Final

from fastapi import Path, Query, Request, Response
from sqlalchemy import Connection
from starlette.responses import StreamingResponse

from headway.actions.dags.history import as_it_was
from headway.db.core import stored_versions
from headway.db.core.stored_versions import Piece
from headway.decide.explain.wording import listed
from headway.domain.accounts import Permission
from headway.domain.errors import VersionNotFoundError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.caching import IMMUTABLE, REVALIDATED, is_known, not_modified
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.dags.versions import VersionNumber

router = native_router("DAGs")

PIECE: Final = 1 << 20
"""Bytes of a file that are read at a time."""


@router.get(
    "/dags/{dag_id}/versions/{number}/files/{path:path}",
    responses={**errors(404), 200: {"content": {"text/plain": {}, "application/octet-stream": {}}}},
    response_class=Response,
)
def show_file(
    dag_id: str,
    number: VersionNumber,
    path: Annotated[str, Path(description="The path of the file as the version has it.")],
    caller: AnyCaller,
    request: Request,
    content_hash: Annotated[
        str | None,
        Query(
            alias="hash",
            description="The SHA-256 of the content. With it, the answer may be kept for ever.",
        ),
    ] = None,
) -> Response:
    """Send the bytes of a file of a version's code.  Its ETag is the SHA-256 of the content."""
    key = caller.read(lambda conn: _key(conn, caller, (dag_id, number), path, content_hash))
    kept = IMMUTABLE if content_hash is not None else REVALIDATED
    headers = {"ETag": f'"{key}"', "Cache-Control": kept}
    if is_known(request, headers["ETag"]):
        return not_modified(headers)
    first = _piece(caller, key, 0)
    headers["Content-Length"] = str(first.size)
    media_type = "application/octet-stream" if b"\0" in first.piece else "text/plain; charset=utf-8"
    return StreamingResponse(_pieces(caller, key, first), headers=headers, media_type=media_type)


def _key(
    conn: Connection, caller: Caller, of: tuple[str, int], path: str, content_hash: str | None
) -> str:
    """Return under which hash the file is stored; paths are those of the version, and no others."""
    dag_id, number = of
    caller.check_dag(conn, Permission.READ, dag_id)
    files = as_it_was(conn, dag_id, number).files
    key = files.get(path)
    if key is None or content_hash not in {None, key}:
        raise VersionNotFoundError(
            f"Version {number} of DAG {dag_id} has no file {path[:200]!r} with that content; it "
            f"has {listed(sorted(files)) if files else 'none'}."
        )
    return key


def _piece(caller: Caller, key: str, start: int) -> Piece:
    return caller.read(lambda conn: stored_versions.piece(conn, key, start, PIECE))


def _pieces(caller: Caller, key: str, first: Piece) -> Iterator[bytes]:
    yield first.piece
    for start in range(PIECE, first.size, PIECE):
        yield _piece(caller, key, start).piece
