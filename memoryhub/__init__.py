"""The application: what AI agents are allowed to remember, one package for each room."""

__version__ = "0.1.0"
