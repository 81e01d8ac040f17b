"""Interface: version 1 of the REST API; a view reads a shape, calls one use case or query, and tells the answer."""
