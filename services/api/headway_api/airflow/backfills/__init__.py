"""Backfills: list, show, plan, create, pause, resume and cancel them."""
