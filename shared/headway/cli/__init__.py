"""The headway command: parse arguments, call, render."""
