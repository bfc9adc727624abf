"""Headway: a distributed, multi-scheduler workflow system for data pipelines on Spark."""

__version__ = "0.1.0"
