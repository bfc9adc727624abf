"""Headway's own operations, under /headway/v1."""
