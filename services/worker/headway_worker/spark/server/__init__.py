"""The Spark Connect servers of a worker."""
