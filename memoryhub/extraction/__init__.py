"""Governed object, extraction: turns events into proposals behind one Protocol."""
