"""What the API writes of its own: accounts, sessions, tokens, links, tries and answers."""
