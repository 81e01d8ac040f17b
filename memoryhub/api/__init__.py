"""Interface: the programs' way in; each version of the API is a package of its own."""
