"""Benchmarks: each prints a table of targets and measured values, and writes its rows."""
