"""Interface layer, management: what an operator can ask for on the command line."""
