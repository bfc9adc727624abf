"""Outputs of tasks that are made of others: by a function, side by side, one after the other."""
