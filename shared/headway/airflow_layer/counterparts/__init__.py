"""Names of Airflow that Headway's SDK has no use for, and DAG files have."""
