"""Clocks for tests."""
