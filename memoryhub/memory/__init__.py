"""Governed object, memory: candidates, decisions, heads, versions and the set of claims."""
