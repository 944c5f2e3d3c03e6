"""Levels of a load, in this process or several."""
