#!/usr/bin/env python
"""Run one of memoryhub's commands."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Hand the command line to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
