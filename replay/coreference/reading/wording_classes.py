"""How a span is put into a question: the connecting word before it, and its article."""

PREPOSITIONS = (
    "", "besides", "other than", "in", "of", "to", "with", "for", "at", "about", "on", "from", "by", "during",
    "as", "than", ",",
)  # fmt: skip
"""The first puts the span there as it is."""
ARTICLES = ("", "the")
