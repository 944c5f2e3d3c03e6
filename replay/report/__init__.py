"""Numbers shown: one document, as text, Markdown or in a notebook; charts, figures, JSON, JUnit, exports."""

MOST_CHARS = 65_000
"""Of Markdown: what a comment on GitHub takes, with some room for what others put around it."""
LEAST_CHARS = 2_000
"""A heading and what was left out fit into less."""
