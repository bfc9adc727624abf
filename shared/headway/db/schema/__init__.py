"""The tables.  Migrations create them; a test holds the two against each other."""

from headway.db.schema import attempts, dags, processes, runs
from headway.db.schema.columns import METADATA

__all__ = ["METADATA", "attempts", "dags", "processes", "runs"]
