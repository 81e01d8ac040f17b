"""Use cases: what the system can be asked to do; the only place where a transaction opens."""
