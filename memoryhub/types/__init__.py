"""L1 types: what kind of thing a memory is, on two clocks. Pure, all of it."""
