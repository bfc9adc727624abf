"""The embedded Postgres server and Java runtime: find, start, stop."""
