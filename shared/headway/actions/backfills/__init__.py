"""What users do with backfills: create, control, run again."""
