"""What users ask: why a task is not running, and what other limits would change."""
