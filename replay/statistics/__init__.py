"""From a turn's numbers to estimates, tables and tests."""

VERSION = 2
"""Raised whenever the same observations and seed could give another number; a report for machines has it."""
