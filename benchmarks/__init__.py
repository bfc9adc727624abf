"""Benchmarks: each prints a table of targets and measured values, and writes its rows.

What benchmarks share is in `support`.
"""
