"""Spark clusters for tests, real and imitated."""
