"""When runs fall due: pure, and serializable as data."""
