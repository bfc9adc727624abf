"""What schedulers write: runs, task instances and queued attempts; and what they decide on."""
