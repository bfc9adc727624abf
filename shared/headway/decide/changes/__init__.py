"""What a change that a user asks for does to runs: clear, mark, repin, backfill."""
