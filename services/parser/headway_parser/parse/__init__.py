"""Have files parsed in child processes, and check what these answer."""
