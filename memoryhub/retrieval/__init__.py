"""Governed object, retrieval: the search projection and the audit of every answer."""
