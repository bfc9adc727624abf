"""Mail: how a mail server is reached, and what a letter of a task is."""
