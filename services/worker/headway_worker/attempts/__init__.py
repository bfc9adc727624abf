"""Attempts of tasks: launch, states, questions and answers."""
