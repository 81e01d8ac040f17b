"""L2 policy: what should be done with what was proposed. Pure, all of it."""
