"""Load a DAG file, specify its DAGs, execute a task: for the children of services."""
