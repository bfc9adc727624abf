"""Processes that tests start, find and look into."""
