"""Resolvers at work: worker processes, batches, caches, large models and language models."""
