"""A suite looked through in a browser."""
