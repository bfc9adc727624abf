"""Commands on DAGs, their runs and tasks."""
