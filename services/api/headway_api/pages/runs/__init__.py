"""The pages of runs and task instances."""
