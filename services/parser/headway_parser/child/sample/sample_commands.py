"""What the DAG file beside this one imports, as many import a module of their bundle."""

COMMANDS = [f"echo {number}" for number in range(3)]
