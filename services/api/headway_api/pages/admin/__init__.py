"""The pages of accounts, tokens and secrets."""
