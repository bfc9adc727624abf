"""What users may do: each in one transaction, with an event that says who did it."""
