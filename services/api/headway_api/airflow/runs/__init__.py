"""DAG runs: list and show them, wait for their end, trigger, mark, clear and delete them."""
