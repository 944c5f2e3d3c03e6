"""Who words a turn of which the recorded question no longer does."""
