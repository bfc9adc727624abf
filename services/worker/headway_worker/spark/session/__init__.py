"""Spark inside an attempt's child."""
