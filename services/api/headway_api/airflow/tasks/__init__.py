"""Tasks of DAGs, as the versions in force define them."""
