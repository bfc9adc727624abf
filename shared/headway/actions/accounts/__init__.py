"""What admins do to accounts and tokens, and how requests show whose they are."""
