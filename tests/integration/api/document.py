"""The OpenAPI document of the API as docs/openapi.json has it.

`make api-files` writes it, and the table of docs/api.md.
"""

import json
from pathlib import Path
from typing import Final

from headway.db.core import engine as engines
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway_api.app import build
from headway_api.auth.database import ApiDatabase

PATH: Final = Path(__file__).parents[3] / "docs" / "openapi.json"


def text() -> str:
    """Return the file's text; no database is asked."""
    nowhere = engines.connect("postgresql://", pooler=False)
    app = build(ApiDatabase(nowhere, nowhere), configuration.read(ApiSettings))
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
