"""What the DAG `flights_daily` is made of: source, tables, checks, partitions, report."""
