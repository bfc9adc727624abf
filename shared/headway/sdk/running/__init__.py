"""What a running task may ask and is told."""
