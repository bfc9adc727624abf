"""What users write: pauses, pools, backfills, secrets, removals."""
