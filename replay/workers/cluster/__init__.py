"""Runs that the nodes of a Ray cluster play."""
