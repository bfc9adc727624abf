"""What users do with runs: trigger, clear, mark, cancel, delete."""
