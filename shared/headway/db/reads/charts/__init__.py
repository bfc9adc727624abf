"""Reads for charts: the grid of tasks and runs, the calendar of a DAG, the times of attempts."""
