"""Files read as documents: sections, paragraphs, lists and tables, with each sentence's place."""
