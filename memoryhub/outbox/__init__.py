"""Governed object, outbox: what must still be told and done, kept in the database."""
