"""A reading of a question: the question in other words."""
