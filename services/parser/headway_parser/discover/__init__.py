"""Find DAG files, and tell which changed or are gone."""
