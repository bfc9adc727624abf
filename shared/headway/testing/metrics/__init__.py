"""A Prometheus for tests, and what it scrapes."""
