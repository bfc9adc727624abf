"""Task instances: list and show them with their attempts, mark and clear them, explain them."""
