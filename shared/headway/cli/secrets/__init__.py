"""Commands on connections, variables and keys."""
