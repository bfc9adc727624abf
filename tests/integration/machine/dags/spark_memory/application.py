"""An application whose first run needs more memory than there is, or waits to be killed."""

import sys

import work  # type: ignore[import-not-found]  # beside this file
from pyspark.sql import SparkSession

work.too_much_at_first(SparkSession.builder.getOrCreate(), sys.argv[1], sys.argv[2])
