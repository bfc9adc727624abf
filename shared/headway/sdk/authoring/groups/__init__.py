"""Groups of tasks, and the decorator that makes one from a function."""
