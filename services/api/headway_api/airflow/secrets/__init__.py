"""Connections and variables: what they are called, and never what they hold."""
