"""L0 kernel: records, evidence, derivation and arbitration; all but its tables is pure."""
