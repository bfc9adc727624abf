"""What the DAG `tpch` is made of: its data, and how its results are checked."""
