"""Two readings of a question: does it still mean the same?"""
