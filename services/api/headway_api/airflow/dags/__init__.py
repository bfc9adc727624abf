"""DAGs: list and show them, pause and delete them, have their files parsed."""
