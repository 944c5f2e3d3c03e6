"""Logs into a suite: what is worth keeping is sampled, personal data are replaced, a person looks through."""
