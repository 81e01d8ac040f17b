"""Interface: the console for people, server-rendered screens with one module each."""
