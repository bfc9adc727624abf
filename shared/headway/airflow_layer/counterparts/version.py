"""The release of Airflow whose names the layer gives."""

from typing import Final

VERSION: Final = "3.3.2"
