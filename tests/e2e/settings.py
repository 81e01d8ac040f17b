"""Serve the tests' database with the product's own settings; only passwords are cheap, as the cast's are."""

from memoryhub.settings import *  # noqa: F403 - the product's settings, whole

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
