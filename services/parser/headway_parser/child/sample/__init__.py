"""A folder of one DAG file, which a fork server parses before it forks."""
