"""Databases for tests: servers, faults, interleavings, invariants, query plans."""
