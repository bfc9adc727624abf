"""Keys, scrubbed environments and files that only their owner reads."""
