"""The files that pages load, at an address that changes with their content."""

import gzip
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from headway.domain.errors import NotFoundError
from headway_api.http.caching import IMMUTABLE
from headway_api.http.compressing import takes_gzip

PREFIX: Final = "/static"
_FOLDER: Final = Path(__file__).parent.parent / "static"
_DIGEST_BYTES: Final = 8


@dataclass(frozen=True)
class Assets:
    """The files of a folder, which are read once."""

    folder: Path

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Each file by its path in the folder."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    @cached_property
    def digest(self) -> str:
        """What tells these files from any others."""
        whole = blake2b(digest_size=_DIGEST_BYTES)
        for path, content in self.files.items():
            whole.update(f"{path}:{len(content)}:".encode() + content)
        return whole.hexdigest()

    @cached_property
    def in_gzip(self) -> Mapping[str, bytes]:
        """Each file as it is sent to who takes gzip."""
        return {path: gzip.compress(content, mtime=0) for path, content in self.files.items()}

    def address(self, path: str) -> str:
        """Return where a browser finds a file; KeyError if there is none."""
        self.files[path]
        return f"{PREFIX}/{self.digest}/{path}"


ASSETS: Final = Assets(_FOLDER)

router = APIRouter()


@router.get(PREFIX + "/{digest}/{path:path}", include_in_schema=False)
async def show_asset(  # async, so that it needs no thread
    request: Request, digest: str, path: str
) -> Response:
    """Return a file; one of another version is not here."""
    content = ASSETS.files.get(path)
    if content is None or digest != ASSETS.digest:
        raise NotFoundError("This file belongs to another version of Headway. Load the page again.")
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    headers = {"Cache-Control": IMMUTABLE, "Vary": "Accept-Encoding"}
    if takes_gzip(request):
        content, headers["Content-Encoding"] = ASSETS.in_gzip[path], "gzip"
    return Response(content, headers=headers, media_type=media_type)
