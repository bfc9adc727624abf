"""Support for tests: a fake clock, builders, throw-away Postgres servers."""
