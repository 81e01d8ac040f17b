"""Base layer, embedded: runs PostgreSQL, Valkey and the product's own processes on one machine."""
