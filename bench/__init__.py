"""Measure memoryhub as ratios against raw SQL in the same run; never a timed test."""
