"""A run read again: scores, checks, judging, comparing, attribution, notes."""
