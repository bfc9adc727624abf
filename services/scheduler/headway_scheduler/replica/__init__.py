"""One replica of the scheduler: its engine and identity, decoded DAGs, the quarantine."""
