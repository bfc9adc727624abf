"""What a scheduler does when: its loop, its turns, backfills, housekeeping, metrics."""
