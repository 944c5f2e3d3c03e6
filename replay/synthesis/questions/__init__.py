"""Questions that a document answers, asked by the grammar of its sentences."""
