"""The run's folder and its SQLite database."""
