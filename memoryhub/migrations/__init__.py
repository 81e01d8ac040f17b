"""Storage, migrations: one linear history of the tables."""
