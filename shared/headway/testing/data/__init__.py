"""Data for tests: DAGs, runs, history, versions."""
