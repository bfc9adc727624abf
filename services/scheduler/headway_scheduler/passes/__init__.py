"""One module per scheduling pass: lock, decide, write, commit."""
