"""Services of Headway as real processes, for tests."""
