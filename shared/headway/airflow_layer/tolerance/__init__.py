"""DAGs, operators and decorators that take what Airflow's took, and say what has no effect."""
