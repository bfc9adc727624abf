"""The files of the dashboards."""

from pathlib import Path
from typing import Final

from deploy.helm.dashboards.api import API
from deploy.helm.dashboards.database import DATABASE
from deploy.helm.dashboards.overview import OVERVIEW
from deploy.helm.dashboards.parsing import PARSING
from deploy.helm.dashboards.parts import built
from deploy.helm.dashboards.pools import POOLS
from deploy.helm.dashboards.schedulers import SCHEDULERS
from deploy.helm.dashboards.workers import WORKERS
from grafana_foundation_sdk.cog.encoder import JSONEncoder

BOARDS: Final = (OVERVIEW, SCHEDULERS, POOLS, PARSING, WORKERS, API, DATABASE)
FOLDER: Final = Path(__file__).parents[1] / "headway" / "dashboards"


def texts() -> dict[str, str]:
    """Return the text of each file by its name."""
    encoder = JSONEncoder(sort_keys=True, indent=1)
    return {f"{board.name}.json": encoder.encode(built(board).build()) + "\n" for board in BOARDS}
