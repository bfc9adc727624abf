"""Traces of runs and attempts, and how they are sent by OTLP."""
