"""Interface: what templates may call, beside the console."""
