"""Conversations from documents by a model: a student asks a teacher, or questions are put to sentences."""
