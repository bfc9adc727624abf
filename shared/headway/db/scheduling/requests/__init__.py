"""Runs that tasks ask for: what is known of a request, and its answer."""
