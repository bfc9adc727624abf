"""The worker service: claims attempts and runs them in child processes."""
