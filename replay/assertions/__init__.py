"""What a scenario's ``assert`` section asks of a run's numbers, and whether the run keeps it."""
