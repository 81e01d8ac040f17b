"""Base layer, lib: tools that know nothing of memory, such as clock, ids, canonical JSON and hashing."""
