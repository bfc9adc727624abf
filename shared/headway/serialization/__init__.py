"""A DAG as bytes and back, and its fingerprint."""
