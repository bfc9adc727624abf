"""Processes: starting them, frames between them, trees, services as children."""
