"""Tables in place of a run: scores and ratings held against each other, answers scored and judged."""
