"""Governed object, erasure: barriers that keep revoked material from being used or coming back."""
