"""What all requests have in common: which hosts and origins may ask, and how errors look."""
