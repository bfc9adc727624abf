"""Orders and results between the worker and its children."""
