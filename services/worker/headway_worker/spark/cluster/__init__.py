"""Applications on a cluster: spark-submit, and asking how they are."""
