"""Import what a Spark task needs, for the process that attempts are forked from.

Importing takes 0.6 s, forking 3 ms.  A process with threads cannot be forked
safely, and no Spark session may be open in it: so nothing here opens a channel,
and the libraries that start threads of their own are told not to.
"""

import importlib
import logging
import os
from typing import Final

# Each is read once, when its library is loaded.  The last tells `pyspark.sql.functions`
# that DAG files are to be loaded for Spark Connect.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")  # noqa: TID251
os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # noqa: TID251

_MODULES: Final = (
    "numpy",
    "pandas",
    "pyarrow",
    "zstandard",
    "grpc._auth",  # these three are what opening a channel imports
    "grpc._channel",
    "grpc._plugin_wrapping",
    "grpc_status.rpc_status",
    "pyspark.sql.functions",
    "pyspark.sql.connect.functions",
    "pyspark.sql.connect.session",
    "pyspark.sql.connect.udf",
    "headway_worker.spark.session.access",
    "headway_worker.spark.session.release",
)

for module in _MODULES:
    importlib.import_module(module)

from pyspark.logger import PySparkLogger  # noqa: E402 - after the variables that it reads

# They print every error of a query as a line of JSON with two stack traces, next to the
# exception that says the same.
for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
