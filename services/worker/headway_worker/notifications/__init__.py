"""Notifications: messages about what has happened, sent in children beside attempts."""
