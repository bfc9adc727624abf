"""The pages of logs."""
