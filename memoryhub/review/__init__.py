"""Governed object, review: what waits for a person."""
