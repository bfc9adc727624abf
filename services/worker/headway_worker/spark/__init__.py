"""Spark, as tasks use it: a warm Connect server, sessions on it, and spark-submit."""
