"""Logs of attempts: paths, lines, escaping, reading and copies."""
