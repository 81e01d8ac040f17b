"""Interface layer, management commands: one module for each `manage.py` command."""
