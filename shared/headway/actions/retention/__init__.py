"""Removal of old rows, with an archive of them."""
