"""Containers and images, for tests."""
