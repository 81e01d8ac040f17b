"""L0 kernel: records, evidence, derivation and arbitration. Its values, derivation, arbitration and lineage are pure."""
