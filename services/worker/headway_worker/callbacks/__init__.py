"""Callbacks: the functions that DAGs have for what happens, called in children beside attempts."""
