"""Removal of old rows, and what an archive keeps of them."""
