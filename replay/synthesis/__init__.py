"""Conversations made from documents."""
