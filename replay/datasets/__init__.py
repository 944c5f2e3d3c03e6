"""Data sets: one reader per file format, and the streaming of files through them (``loading``)."""
