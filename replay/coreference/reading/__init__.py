"""What each expression of a question means: words, mentions, a resolver's protocol, the reader that ships."""
