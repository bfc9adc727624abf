"""The commands of `headway`: those on DAGs, and those on the installation."""
