"""A folder as bundles are, whose DAG file a fork server parses before it forks."""
